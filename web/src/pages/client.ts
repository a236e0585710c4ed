// Asks the server. The only file that knows its addresses.

import {
  ApiError,
  type Distributions,
  type Graph,
  type GroupsQuery,
  type Guide,
  type Histograms,
  type Marks,
  type Meaning,
  type MediaItem,
  type Model,
  type Points,
  type Report,
  type Restart,
  type RunHparams,
  type RunSummary,
  type ServerStatus,
  type Table,
  type TagSummary,
  type TextItem,
  type WindowQuery,
} from "../lib/api";
import { readColumns, type Curve } from "../lib/columns";

type Query = Record<string, string | number | boolean | string[] | null | undefined>;

/** The address of a request. Relative to the page, so that a path prefix needs no setting. */
export function address(path: string, query: Query = {}): string {
  const url = new URL(`api/${path}`, new URL("./", location.href.split("#")[0]));
  for (const [key, value] of Object.entries(query)) {
    if (value === null || value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(key, String(one));
  }
  return url.href;
}

declare global {
  interface Window {
    /** Answers that public/early.js asked for while this code was on its way. */
    pulseboardEarly?: Record<string, Promise<Response>>;
  }
}

/** An early answer, once: whoever asks again wants news. */
function early(url: string): Promise<Response> | undefined {
  const question = url.slice(url.lastIndexOf("/api/") + 5);
  const answer = window.pulseboardEarly?.[question];
  if (answer) delete window.pulseboardEarly![question];
  return answer;
}

async function ask(path: string, query: Query = {}, init: RequestInit = {}): Promise<Response> {
  let answer: Response;
  try {
    const url = address(path, query);
    answer = await (early(url) ?? fetch(url, { credentials: "same-origin", ...init }));
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "The server does not answer.", "Is pulseboard still running? The page tries again by itself.");
  }
  if (answer.ok) return answer;
  let what = `The server answered ${answer.status} to ${path}.`;
  let advice = "";
  try {
    const body = (await answer.json()) as { error?: { what?: string; do?: string } };
    what = body.error?.what ?? what;
    advice = body.error?.do ?? "";
  } catch {
    // Not JSON: the sentence above has to do.
  }
  throw new ApiError(answer.status, what, advice);
}

async function json<T>(path: string, query: Query = {}): Promise<T> {
  return (await (await ask(path, query)).json()) as T;
}

async function columns(path: string, body: unknown, signal?: AbortSignal): Promise<Curve[]> {
  const answer = await ask(
    path,
    {},
    {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      ...(signal ? { signal } : {}),
    },
  );
  return readColumns(await answer.arrayBuffer()).curves;
}

export const getStatus = () => json<ServerStatus>("status");
export const getRuns = () => json<{ revision: number; runs: RunSummary[] }>("runs");
export const getTags = () => json<{ revision: number; tags: TagSummary[] }>("tags", { names: 1 });
export const getWindow = (query: WindowQuery, signal?: AbortSignal) => columns("window", query, signal);
export const getGroups = (query: GroupsQuery) => columns("groups", query);
export const getHistograms = (run: string, tag: string, limit: number) =>
  json<Histograms>("histograms", { run, tag, limit });
export const getDistributions = (run: string, tag: string) => json<Distributions>("distributions", { run, tag });
export const getImages = (run: string, tag: string) => json<{ items: MediaItem[] }>("images", { run, tag });
export const getAudio = (run: string, tag: string) => json<{ items: MediaItem[] }>("audio", { run, tag });
export const imageAddress = (run: string, tag: string, index: number, frame?: number) =>
  address("image", { run, tag, index, frame });
export const clipAddress = (run: string, tag: string, index: number) => address("clip", { run, tag, index });
export const getTexts = (run: string, tag: string) => json<{ items: TextItem[] }>("texts", { run, tag });
export const getHparams = () => json<{ runs: Record<string, RunHparams> }>("hparams");
/** Settings of runs, and last, min, max and best of some metrics. */
export async function getTable(runs: string[], metrics: string[]): Promise<Table> {
  const answer = await ask("table", {}, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ runs, metrics }),
  });
  return (await answer.json()) as Table;
}
export const getGraph = (run: string, tag?: string) =>
  json<Graph>("graph", { run, tag });
export const getModules = (run: string) => json<{ run: string; models: Model[] }>("modules", { run });
export const getRestarts = (run: string) => json<{ restarts: Restart[] }>("restarts", { run });
export const getDiagnosis = (runs: string[]) => json<Report>("diagnosis", { run: runs });
export const getGuide = (slug: string) => json<Guide>("guide", { slug });
export const getMeaning = (tag: string) => json<Meaning | null>("meaning", { tag });
export const getPoints = (run: string, tag: string) => json<Points>("points", { run, tag });

/** What a user says about runs: the marks that change, by run. */
export async function putMarks(marks: Record<string, Marks>): Promise<void> {
  await ask("marks", {}, {
    method: "PUT",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ marks }),
  });
}
