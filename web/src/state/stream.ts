// The live connection: server-sent events, with catching up after a loss.

import type { Changed } from "../lib/api";
import { address } from "../pages/client";
import { app } from "./app.svelte";

/** At most one refresh a second: charts that move more often cannot be read. */
const REFRESH_MS = 1000;

let source: EventSource | null = null;
let revision = 0;
let waiting: Changed | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
let retryMs = 1000;
let lastRefresh = 0;

export function connect(): void {
  if (source) return;
  if (app.connection !== "lost") app.connection = "connecting";
  revision = Math.max(revision, app.status?.revision ?? 0);
  source = new EventSource(address("stream", { since: revision }), { withCredentials: true });
  source.addEventListener("open", () => {
    const returned = app.connection === "lost";
    app.connection = "live";
    retryMs = 1000;
    if (returned || !app.loaded) void app.load().then(() => app.refresh(null));
  });
  source.addEventListener("changed", (event) => take(JSON.parse((event as MessageEvent<string>).data) as Changed));
  source.addEventListener("loading", (event) => {
    const loading = JSON.parse((event as MessageEvent<string>).data) as { done: number; total: number };
    if (app.status) app.status = { ...app.status, loading: loading.done < loading.total ? loading : null };
  });
  source.addEventListener("finding", (event) => {
    const finding = JSON.parse((event as MessageEvent<string>).data) as { run: string; severity: string; summary: string };
    found(finding.run, finding.severity, finding.summary);
  });
  source.addEventListener("marks", () => void app.refresh({ revision, added: [], removed: [], grown: {} }));
  source.addEventListener("error", () => {
    // The browser's own retry never ends on a server that answers with an error, so we close and come back ourselves.
    source?.close();
    source = null;
    app.connection = "lost";
    clearTimeout(timer);
    timer = setTimeout(connect, retryMs);
    retryMs = Math.min(retryMs * 1.6, 15000);
  });
}

export function pause(): void {
  source?.close();
  source = null;
  clearTimeout(timer);
  app.connection = "paused";
}

export function resume(): void {
  app.connection = "connecting";
  connect();
}

/** Runs with new findings since the last look, and those a message was shown for lately. */
const troubled = new Set<string>();
const told = new Map<string, number>();

function found(run: string, severity: string, summary: string): void {
  if (troubled.size === 0) {
    setTimeout(() => {
      const runs = [...troubled];
      troubled.clear();
      void app.diagnose(runs);
      void app.refresh({ revision, added: [], removed: [], grown: {} });
    }, REFRESH_MS);
  }
  troubled.add(run);
  // Findings of runs that ended long ago are no news, and one message a run is enough.
  const news = severity === "critical" && app.diagnosed && app.pending.length === 0 && app.byName.get(run)?.live;
  if (!news || app.view.tab === "health" || Date.now() - (told.get(run) ?? 0) < 60_000) return;
  told.set(run, Date.now());
  app.say(`${app.label(run)}: ${summary}`, "See the Health tab.");
}

function take(changed: Changed): void {
  revision = Math.max(revision, changed.revision);
  waiting = waiting
    ? {
        revision: changed.revision,
        added: [...waiting.added, ...changed.added],
        removed: [...waiting.removed, ...changed.removed],
        grown: { ...waiting.grown, ...changed.grown },
      }
    : changed;
  const wait = Math.max(0, lastRefresh + REFRESH_MS - Date.now());
  setTimeout(() => {
    if (!waiting || app.connection === "paused") return;
    const all = waiting;
    waiting = null;
    lastRefresh = Date.now();
    void app.refresh(all);
  }, wait);
}
