// The order of runs.

import type { RunSummary, Status } from "../api/types";
import { displayName } from "../state/run_name";
import type { RunSort } from "../state/view/view";
import { compareNames } from "../ui/text/natural_order";

const SEVERITY: Record<Status, number> = { critical: 4, warning: 3, info: 2, unknown: 1, ok: 0 };

/** How bad a status is. Runs that were not diagnosed come after all others. */
export function statusRank(status: Status | null): number {
  return status === null ? -1 : SEVERITY[status];
}

/** A sorted copy. `columnValues` has the value of the sorted column for each run. */
export function sortRuns(
  runs: RunSummary[],
  by: RunSort,
  descending: boolean,
  columnValues: Map<string, unknown> = new Map(),
): RunSummary[] {
  const direction = descending ? -1 : 1;
  const byName = (a: RunSummary, b: RunSummary) => compareNames(displayName(a), displayName(b));
  const compare = (a: RunSummary, b: RunSummary): number => {
    switch (by) {
      case "name":
        return byName(a, b) * direction;
      case "started":
        return ((a.started ?? 0) - (b.started ?? 0)) * direction;
      case "status":
        return (statusRank(a.status) - statusRank(b.status)) * direction;
      case "last_step":
        return ((a.last_step ?? -1) - (b.last_step ?? -1)) * direction;
      default:
        return compareValues(columnValues.get(a.name), columnValues.get(b.name), direction);
    }
  };
  return [...runs].sort((a, b) => compare(a, b) || byName(a, b));
}

/** Compares numbers by size and the rest as text. Missing values and NaN come last in either direction. */
export function compareValues(a: unknown, b: unknown, direction: 1 | -1): number {
  const missing = (v: unknown) => v === null || v === undefined || (typeof v === "number" && Number.isNaN(v));
  if (missing(a) || missing(b)) return missing(a) === missing(b) ? 0 : missing(a) ? 1 : -1;
  if (typeof a === "number" && typeof b === "number") return (a - b) * direction;
  return compareNames(String(a), String(b)) * direction;
}
