// The server-sent event stream, which reports changes as they happen.

import { endpointUrl } from "./client";
import type { NewFinding, ReadingProgress, ServerChange } from "./types";

export interface StreamEvents {
  open: () => void;
  changed: (change: ServerChange) => void;
  loading: (progress: ReadingProgress) => void;
  finding: (finding: NewFinding) => void;
  marks: () => void;
  reports: () => void;
  error: () => void;
}

/** Opens the stream at a revision. Returns a function that closes it. */
export function openEventStream(sinceRevision: number, on: StreamEvents): () => void {
  const source = new EventSource(endpointUrl("stream", { since: sinceRevision }), { withCredentials: true });
  const listen = <T>(name: string, handle: (data: T) => void) =>
    source.addEventListener(name, (event) => handle(JSON.parse((event as MessageEvent<string>).data) as T));
  source.addEventListener("open", on.open);
  listen<ServerChange>("changed", on.changed);
  listen<ReadingProgress>("loading", on.loading);
  listen<NewFinding>("finding", on.finding);
  source.addEventListener("marks", on.marks);
  source.addEventListener("reports", on.reports);
  source.addEventListener("error", on.error);
  return () => source.close();
}
