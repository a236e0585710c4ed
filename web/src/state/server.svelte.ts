// The server: its status, and whether the first data has arrived.

import { ApiError } from "../api/errors";
import type { ReadingProgress, ServerStatus } from "../api/types";

class Server {
  status = $state.raw<ServerStatus | null>(null);
  /** Whether runs and tags have been loaded. */
  loaded = $state(false);
  /** Why the first data could not be loaded. */
  failure = $state.raw<ApiError | null>(null);

  /** Whether the user may only look, not change anything. */
  get readOnly(): boolean {
    return this.status?.role === "read";
  }
}

export const server = new Server();

export function serverLoaded(status: ServerStatus): void {
  server.status = status;
  server.failure = null;
  server.loaded = true;
}

export function serverFailed(error: unknown): void {
  server.failure = error instanceof ApiError ? error : new ApiError(0, String(error), "");
}

export function setReadingProgress(progress: ReadingProgress): void {
  if (!server.status) return;
  server.status = { ...server.status, loading: progress.reading ? progress : null };
}
