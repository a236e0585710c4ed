// The filter of the run list.

import type { RunSummary } from "../api/types";
import { displayName } from "../state/run_name";
import { parsePattern } from "../ui/text/pattern";

export interface RunFilter {
  matches: (run: RunSummary) => boolean;
  /** What is wrong with an expression in the filter, or null. */
  error: string | null;
}

const TAG_TERM = /(?:^|\s)(-?)tag:(\S*)/g;

/**
 * Parses a run filter. `tag:good` keeps runs that a user tagged so, `-tag:bad` those that are not; the rest is an
 * expression for names. Tags need their own syntax: a lookahead that excludes runs by name would include them by tag.
 */
export function parseRunFilter(filter: string): RunFilter {
  const tags = [...filter.matchAll(TAG_TERM)].map(([, minus, expression]) => ({
    wanted: minus === "",
    pattern: parsePattern(expression!),
  }));
  const name = parsePattern(tags.length > 0 ? filter.replace(TAG_TERM, " ").trim() : filter);
  const error = [name, ...tags.map((tag) => tag.pattern)].find((pattern) => pattern.error !== null)?.error ?? null;
  const nameMatches = (run: RunSummary) =>
    name.matches(displayName(run)) ||
    (run.marks?.name ? name.matches(run.name) : false) ||
    run.aliases.some(name.matches);
  const tagsMatch = (run: RunSummary) =>
    tags.every(
      ({ wanted, pattern }) => pattern.error !== null || (run.marks?.tags ?? []).some(pattern.matches) === wanted,
    );
  return { matches: (run) => nameMatches(run) && tagsMatch(run), error };
}

/** The runs that a filter keeps, and the baseline if there is one. */
export function filterRuns(runs: RunSummary[], filter: string, baseline: string | null = null): RunSummary[] {
  const { matches } = parseRunFilter(filter);
  return runs.filter((run) => run.name === baseline || matches(run));
}
