// The live connection: follows the server's event stream, and catches up after an interruption.

import { openEventStream } from "../api/event_stream";
import type { NewFinding, ReadingProgress, ServerChange } from "../api/types";
import { showMessage } from "../ui/messages.svelte";
import { diagnosis, loadReports } from "./diagnosis.svelte";
import { loadAll, refresh } from "./refresh.svelte";
import { runIndex, runLabel } from "./runs.svelte";
import { server, setReadingProgress } from "./server.svelte";
import { view } from "./view.svelte";

/** At most one refresh per second: charts that move more often cannot be read. */
const REFRESH_MS = 1000;
const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 15_000;
/** The stream does not report that a run has ended or stalled: that depends on run.json and on the clock. */
const STATES_MS = 15_000;
/** At most one message per run in this time. */
const MESSAGE_INTERVAL_MS = 60_000;

export type Connection = "connecting" | "live" | "paused" | "lost";

class Live {
  connection = $state<Connection>("connecting");
}

export const live = new Live();

let closeStream: (() => void) | null = null;
let revision = 0;
let retryTimer: ReturnType<typeof setTimeout> | undefined;
let statesTimer: ReturnType<typeof setInterval> | undefined;
let retryMs = FIRST_RETRY_MS;

export function connect(): void {
  if (closeStream) return;
  if (live.connection !== "lost") live.connection = "connecting";
  revision = Math.max(revision, server.status?.revision ?? 0);
  statesTimer = setInterval(refreshStates, STATES_MS);
  closeStream = openEventStream(revision, {
    open: () => {
      const reconnected = live.connection === "lost";
      live.connection = "live";
      retryMs = FIRST_RETRY_MS;
      if (reconnected || !server.loaded) void loadAll().then(() => refresh(null));
    },
    changed: scheduleRefresh,
    loading: handleProgress,
    finding: handleFinding,
    marks: () => void refresh(nothingNew()),
    reports: () => scheduleRefresh(nothingNew()),
    error: () => {
      // The browser stops retrying if the server responds with an error, so close the stream and retry here.
      disconnect();
      live.connection = "lost";
      retryTimer = setTimeout(connect, retryMs);
      retryMs = Math.min(retryMs * 1.6, MAX_RETRY_MS);
    },
  });
}

function disconnect(): void {
  closeStream?.();
  closeStream = null;
  clearTimeout(retryTimer);
  clearInterval(statesTimer);
}

function refreshStates(): void {
  if (live.connection === "live" && !document.hidden && runIndex.all.some((run) => run.live)) {
    void refresh(nothingNew());
  }
}

export function togglePause(): void {
  if (live.connection === "paused") {
    live.connection = "connecting";
    connect();
  } else {
    disconnect();
    live.connection = "paused";
  }
}

const nothingNew = (): ServerChange => ({ revision, added: [], removed: [], grown: {} });

/** The page says that it is reading until the runs are there. */
async function handleProgress(progress: ReadingProgress): Promise<void> {
  if (!progress.reading && server.status?.loading) await refresh(null);
  setReadingProgress(progress);
}

// ---- changes

let pendingChange: ServerChange | null = null;
let lastRefresh = 0;

function scheduleRefresh(change: ServerChange): void {
  revision = Math.max(revision, change.revision);
  pendingChange = pendingChange ? mergeChanges(pendingChange, change) : change;
  const delay = Math.max(0, lastRefresh + REFRESH_MS - Date.now());
  setTimeout(() => {
    if (!pendingChange || live.connection === "paused") return;
    const merged = pendingChange;
    pendingChange = null;
    lastRefresh = Date.now();
    void refresh(merged);
  }, delay);
}

function mergeChanges(earlier: ServerChange, later: ServerChange): ServerChange {
  return {
    revision: later.revision,
    added: [...earlier.added, ...later.added],
    removed: [...earlier.removed, ...later.removed],
    grown: { ...earlier.grown, ...later.grown },
  };
}

// ---- findings

const runsWithNewFindings = new Set<string>();
const lastMessage = new Map<string, number>();

function handleFinding({ run, severity, summary }: NewFinding): void {
  if (runsWithNewFindings.size === 0) {
    setTimeout(() => {
      const runs = [...runsWithNewFindings];
      runsWithNewFindings.clear();
      void loadReports(runs);
      void refresh(nothingNew());
    }, REFRESH_MS);
  }
  runsWithNewFindings.add(run);
  // Findings of runs that ended long ago are not news.
  const isLive = runIndex.byName.get(run)?.live;
  const isNews = severity === "critical" && isLive && diagnosis.loaded && diagnosis.pending.length === 0;
  if (!isNews || view.tab === "health" || Date.now() - (lastMessage.get(run) ?? 0) < MESSAGE_INTERVAL_MS) return;
  lastMessage.set(run, Date.now());
  showMessage(`${runLabel(run)}: ${summary}`, "See the Health tab.");
}
