// The shaded ranges of a chart, which show where diagnosis found something.

import type { Severity } from "../../api/types";

export interface ShadedRange {
  from: number;
  to: number;
  severity: Severity;
}

/** Merges overlapping ranges. Where severities overlap only the most severe one remains, so that colors do not mix. */
export function mergeRanges(ranges: ShadedRange[]): ShadedRange[] {
  const merged: ShadedRange[] = [];
  const moreSevere: Span[] = [];
  for (const severity of ["critical", "warning", "info"] as const) {
    const spans = union(ranges.filter((range) => range.severity === severity).map(({ from, to }): Span => [from, to]));
    for (const span of spans) {
      for (const [from, to] of subtract(span, union(moreSevere))) merged.push({ from, to, severity });
    }
    moreSevere.push(...spans);
  }
  return merged;
}

type Span = [from: number, to: number];

/** Sorted spans that cover the same values without overlap. */
function union(spans: Span[]): Span[] {
  const found: Span[] = [];
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = found.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return found;
}

/** The parts of a span that others do not cover. The others are sorted and do not overlap. */
function subtract([from, to]: Span, others: Span[]): Span[] {
  const rest: Span[] = [];
  for (const [start, end] of others) {
    if (end < from || start > to) continue;
    if (start > from) rest.push([from, start]);
    from = end;
    if (from >= to) return rest;
  }
  rest.push([from, to]);
  return rest;
}
