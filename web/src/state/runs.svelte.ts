// The runs on the server, and the marks that users give them.

import { getRuns, putMarks } from "../api/client";
import type { Marks, RunSummary } from "../api/types";
import { showError } from "../ui/messages.svelte";
import { PendingMarks } from "./pending_marks";
import { commonPrefix, displayName } from "./run_name";

class RunIndex {
  all = $state.raw<RunSummary[]>([]);
  /** Whether the user chose to see every run, however many there are. */
  everyRunChosen = $state(false);
  /** Whether the user has read that only the newest of very many runs are shown. */
  newestNoticeRead = $state(false);
  names = $derived(this.all.map((run) => run.name));
  byName = $derived(new Map(this.all.map((run) => [run.name, run])));
  /** The folders that the names of all runs begin with. Labels leave them out. */
  prefix = $derived(commonPrefix(this.names));
  hidden = $derived(this.all.filter((run) => run.marks?.hidden));
}

export const runIndex = new RunIndex();

export function runLabel(name: string): string {
  const run = runIndex.byName.get(name);
  return run ? displayName(run, runIndex.prefix) : name;
}

const pendingMarks = new PendingMarks();
/** Marks are sent one after the other, so that none overtakes another. */
let lastSend: Promise<void> = Promise.resolve();

/** Requests the runs. Call the result to store them. */
export async function fetchRuns(): Promise<() => void> {
  const request = pendingMarks.startRequest();
  const response = await getRuns();
  return () => storeRuns(request, response.runs);
}

function storeRuns(request: number, response: RunSummary[]): void {
  const runs = pendingMarks.applyTo(request, response);
  if (runs === null) return;
  runIndex.all = runs;
}

export function dismissNewestNotice(): void {
  runIndex.newestNoticeRead = true;
}

/** Changes some marks of a run, here at once and then on the server. */
export async function markRun(run: string, changed: Marks): Promise<void> {
  const before = runIndex.byName.get(run)?.marks ?? null;
  // The server replaces all marks of a run, so send the unchanged ones too.
  const marks: Marks = { ...before, ...changed };
  pendingMarks.set(run, marks);
  setMarks(run, marks);
  const sent = lastSend.then(() => putMarks({ [run]: marks }));
  lastSend = sent.catch(() => undefined);
  try {
    await sent;
    pendingMarks.confirm(run, marks);
  } catch (error) {
    if (pendingMarks.discard(run, marks)) setMarks(run, before);
    showError(error);
  }
}

function setMarks(run: string, marks: Marks | null): void {
  runIndex.all = runIndex.all.map((other) => (other.name === run ? { ...other, marks } : other));
}
