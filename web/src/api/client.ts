// HTTP requests to the server. No other file contains an endpoint's address, except public/prefetch.js.

import { readColumns, readHeatmap, type Curve, type Heatmap } from "./columns";
import { ApiError } from "./errors";
import type {
  AlertMatches,
  AlertRule,
  Alerts,
  Artifact,
  Distributions,
  Graph,
  GroupsQuery,
  Guide,
  GuideProfile,
  Histograms,
  Marks,
  Meaning,
  MediaItem,
  Model,
  PositionsQuery,
  Report,
  Restart,
  RunHparams,
  RunSummary,
  SavedView,
  Scorecard,
  ServerStatus,
  Table,
  TagSummary,
  Texts,
  WindowQuery,
  XAxisMetric,
} from "./types";

type Query = Record<string, string | number | boolean | string[] | null | undefined>;

/** The URL of an endpoint. It is relative to the page, so a path prefix needs no configuration. */
export function endpointUrl(path: string, query: Query = {}): string {
  const url = new URL(`api/${path}`, new URL("./", location.href.split("#")[0]));
  for (const [key, value] of Object.entries(query)) {
    if (value === null || value === undefined) continue;
    for (const item of Array.isArray(value) ? value : [value]) url.searchParams.append(key, String(item));
  }
  return url.href;
}

declare global {
  interface Window {
    /** Responses that public/prefetch.js requested while this code was loading, by path and query. */
    pulseboardPrefetch?: Record<string, Promise<Response>>;
  }
}

/** A prefetched response. It is used once, because a second request needs fresh data. */
function takePrefetched(url: string): Promise<Response> | undefined {
  const key = url.slice(url.lastIndexOf("/api/") + 5);
  const response = window.pulseboardPrefetch?.[key];
  if (response) delete window.pulseboardPrefetch![key];
  return response;
}

async function request(path: string, query: Query = {}, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    const url = endpointUrl(path, query);
    response = await (takePrefetched(url) ?? fetch(url, { credentials: "same-origin", ...init }));
  } catch {
    throw new ApiError(0, "The server is not responding.", "Is pulseboard still running? The page keeps retrying.");
  }
  if (response.ok) return response;
  let message = `The server responded with status ${response.status} to ${path}.`;
  let advice = "";
  try {
    const body = (await response.json()) as { error?: { what?: string; do?: string } };
    message = body.error?.what ?? message;
    advice = body.error?.do ?? "";
  } catch {
    // The body is not JSON, so the message above is all there is.
  }
  throw new ApiError(response.status, message, advice);
}

function sendJson(path: string, method: "POST" | "PUT", body: unknown): Promise<Response> {
  return request(path, {}, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

async function getJson<T>(path: string, query: Query = {}): Promise<T> {
  return (await (await request(path, query)).json()) as T;
}

async function getCurves(path: string, query: unknown): Promise<Curve[]> {
  return readColumns(await (await sendJson(path, "POST", query)).arrayBuffer()).curves;
}

export const getStatus = () => getJson<ServerStatus>("status");
export const getRuns = () => getJson<{ revision: number; runs: RunSummary[] }>("runs");
export const getTags = () => getJson<{ revision: number; tags: TagSummary[] }>("tags", { names: 1 });
/** The metrics that can be the x axis, those that rise first. */
export const getXAxes = (runs: string[]) => getJson<{ metrics: XAxisMetric[] }>("x_axes", { run: runs });
/** Where steps are on another axis. */
export const getPositions = async (query: PositionsQuery): Promise<(number | null)[]> =>
  ((await (await sendJson("positions", "POST", query)).json()) as { x: (number | null)[] }).x;
export const getWindow = (query: WindowQuery) => getCurves("window", query);
export const getGroups = (query: GroupsQuery) => getCurves("groups", query);
/** The values of a family of tags of a run, such as `gradient_norm/layer_{i}`, over all steps. */
export const getHeatmap = async (run: string, family: string, columns: number): Promise<Heatmap> =>
  readHeatmap(await (await request("heatmap", { run, family, columns })).arrayBuffer());
export const getHistograms = (run: string, tag: string, limit: number) =>
  getJson<Histograms>("histograms", { run, tag, limit });
export const getDistributions = (run: string, tag: string) => getJson<Distributions>("distributions", { run, tag });
export const getImages = (run: string, tag: string) => getJson<{ items: MediaItem[] }>("images", { run, tag });
export const getAudio = (run: string, tag: string) => getJson<{ items: MediaItem[] }>("audio", { run, tag });
export const imageUrl = (run: string, tag: string, index: number, frame?: number) =>
  endpointUrl("image", { run, tag, index, frame });
export const clipUrl = (run: string, tag: string, index: number, frame: number) =>
  endpointUrl("clip", { run, tag, index, frame });
/** A CSV file with every point of some tags. */
export const exportCsv = async (runs: string[], tags: string[]): Promise<Blob> =>
  (await sendJson("export", "POST", { format: "csv", runs, tags })).blob();
export const getTexts = (run: string, tag: string) => getJson<Texts>("texts", { run, tag });
export const getHparams = () => getJson<{ runs: Record<string, RunHparams> }>("hparams");
/** The settings of runs, and the last, min, max and best value of some metrics. */
export const getTable = async (runs: string[], metrics: string[]) =>
  (await (await sendJson("table", "POST", { runs, metrics })).json()) as Table;
export const getGraph = (run: string, tag?: string) => getJson<Graph>("graph", { run, tag });
export const getModules = (run: string) => getJson<{ run: string; models: Model[] }>("modules", { run });
export const getArtifacts = (run: string) => getJson<{ items: Artifact[] }>("artifacts", { run });
export const artifactUrl = (run: string, sha256: string) => endpointUrl("artifact", { run, sha256 });
export const getRestarts = (run: string) => getJson<{ restarts: Restart[] }>("restarts", { run });
/** The reports on runs; why checks did not run is left out unless it is wanted. */
export const getDiagnosis = (runs: string[], reasons = false) =>
  getJson<Report>("diagnosis", { run: runs, reasons: reasons ? 1 : 0 });
export const getGuide = (slug: string) => getJson<Guide>("guide", { slug });
/** The guide of a profile, filled in for a run; without a profile, that of the one that fits. */
export const getScorecard = (run: string, profile?: string) => getJson<Scorecard | null>("scorecard", { run, profile });
export const getProfiles = () => getJson<{ profiles: GuideProfile[] }>("profiles");
export const getMeaning = (tag: string) => getJson<Meaning | null>("meaning", { tag });

/** Markdown as safe HTML. */
export const renderMarkdown = async (text: string): Promise<string> =>
  ((await (await sendJson("markdown", "POST", { text })).json()) as { html: string }).html;
export const getViews = async (): Promise<SavedView[]> => (await getJson<{ views: SavedView[] }>("views")).views;
/** Saves views by name; null removes one. Returns all of them. */
export const putViews = async (views: Record<string, string | null>): Promise<SavedView[]> =>
  ((await (await sendJson("views", "PUT", { views })).json()) as { views: SavedView[] }).views;

export const getAlerts = () => getJson<Alerts>("alerts");
/** Adds (`index` is null), changes or removes (`rule` is null) a rule of the file with this version. */
export const putAlertRule = async (version: string, index: number | null, rule: AlertRule | null): Promise<Alerts> =>
  (await (await sendJson("alerts/rule", "PUT", { version, index, rule })).json()) as Alerts;
/** The same for a destination. Without an address it keeps the one it has. */
export const putAlertDestination = async (
  version: string,
  index: number | null,
  destination: { name: string; kind: "url" | "webhook"; address: string | null } | null,
): Promise<Alerts> =>
  (await (await sendJson("alerts/destination", "PUT", { version, index, destination })).json()) as Alerts;
/** Sends a test message; `error` says why it did not arrive. */
export const testAlert = async (destination: string): Promise<{ error: string | null }> =>
  (await (await sendJson("alerts/test", "POST", { destination })).json()) as { error: string | null };
/** What a rule would send now. */
export const getAlertMatches = async (rule: AlertRule): Promise<AlertMatches> =>
  (await (await sendJson("alerts/matches", "POST", { rule })).json()) as AlertMatches;

/** Stores a user's marks, by run. */
export async function putMarks(marks: Record<string, Marks>): Promise<void> {
  await sendJson("marks", "PUT", { marks });
}
