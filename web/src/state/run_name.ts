// Names of runs.

import type { RunSummary } from "../api/types";

/** The folders that all names begin with, with the slash at their end; empty if there are none. */
export function commonPrefix(names: string[]): string {
  const [first, ...others] = names;
  if (first === undefined || others.length === 0) return "";
  let end = first.lastIndexOf("/") + 1;
  for (const name of others) {
    while (end > 0 && !name.startsWith(first.slice(0, end))) end = first.lastIndexOf("/", end - 2) + 1;
    if (end === 0) return "";
  }
  return first.slice(0, end);
}

/** The name that users see: the one they gave the run, or its own without what it shares with all others. */
export function displayName(run: RunSummary, prefix = ""): string {
  return run.marks?.name || run.name.slice(prefix.length);
}
