// Names of runs.

import type { RunSummary } from "../api/types";

/** The name that users see: the one they gave the run, or its own. */
export function displayName(run: RunSummary): string {
  return run.marks?.name || run.name;
}
