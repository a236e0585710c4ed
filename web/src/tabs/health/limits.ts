// The limits of a finding that can be drawn on a chart of its metric.

import type { Finding } from "../../api/types";

/**
 * The limits in a finding's evidence that are values of this metric. Evidence is often about something else that was
 * computed from the curve, such as a share of the run; its limit has no place on the axis.
 */
export function limitsOnChart(finding: Finding, tag: string): number[] {
  const limits = finding.evidence.flatMap(({ metric, limit, on_curve }) =>
    on_curve && metric === tag && typeof limit === "number" && Number.isFinite(limit) ? [limit] : [],
  );
  return [...new Set(limits)];
}
