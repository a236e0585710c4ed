// The reports of diagnosis.

import { SvelteMap } from "svelte/reactivity";
import { getDiagnosis } from "../api/client";
import { ApiError } from "../api/errors";
import type { RunReport } from "../api/types";
import { showError } from "../ui/messages.svelte";
import { findingRangesByTag } from "./finding_ranges";
import { runIndex } from "./runs.svelte";
import { server } from "./server.svelte";

/** A request for more runs than this is a request for all of them, to keep its URL short. */
const MAX_RUNS = 40;
const MAX_ATTEMPTS = 200;

class Diagnosis {
  /** Reports by run. A run without one has not been diagnosed yet. */
  reports = new SvelteMap<string, RunReport>();
  /** Runs whose diagnosis is not finished. */
  pending = $state.raw<string[]>([]);
  /** Whether any report has arrived. */
  loaded = $state(false);
  /** Where the findings are, by tag. */
  ranges = $derived(
    findingRangesByTag(this.reports.values(), (run) => runIndex.byName.get(run)?.marks?.expected ?? []),
  );

  /** The report of a run. Runs that are data splits of one training share the report of their folder. */
  reportOf(run: string): RunReport | null {
    return this.reports.get(run) ?? this.reports.get(run.slice(0, Math.max(0, run.lastIndexOf("/")))) ?? null;
  }
}

export const diagnosis = new Diagnosis();

/** Loads the reports of some runs, or of all. While the server is still diagnosing, requests those that are missing. */
export async function loadReports(runs: string[] = []): Promise<void> {
  if (!server.status?.findings) return;
  try {
    let requested = runs.length <= MAX_RUNS ? runs : [];
    let later: string[] = [];
    for (let waits = 0; waits < MAX_ATTEMPTS;) {
      const report = await getDiagnosis(requested);
      for (const run of report.runs) diagnosis.reports.set(run.run, run);
      const pending = [...later, ...(report.pending ?? [])];
      diagnosis.pending = pending;
      diagnosis.loaded = true;
      if (pending.length === 0) break;
      requested = pending.slice(0, MAX_RUNS);
      later = pending.slice(MAX_RUNS);
      if (report.runs.length > 0 && later.length > 0) continue;
      await new Promise((resolve) => setTimeout(resolve, Math.min(5000, 500 + waits++ * 250)));
    }
  } catch (error) {
    if (!(error instanceof ApiError && error.isUnreachable)) showError(error);
  }
}
