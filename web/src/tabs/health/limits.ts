// The limits of a finding that can be drawn on a chart of its metric.

import type { Curve } from "../../api/columns";
import type { Finding } from "../../api/types";

/** How far a value in a report, which is rounded, may be from the logged one. */
const ROUNDING = 0.005;

/**
 * The limits in a finding's evidence that are in the unit of the curve. Evidence is often about something else that was
 * computed from the curve, such as a share of the run; its limit has no place on the axis. So a limit counts only if the
 * value it was compared with is on the curve, at the step that the evidence names.
 */
export function limitsOnCurve(finding: Finding, curve: Curve): number[] {
  const limits = new Set<number>();
  for (const { metric, value, limit, step } of finding.evidence) {
    if (metric !== curve.tag || typeof limit !== "number" || !Number.isFinite(limit)) continue;
    if (typeof value === "number" && typeof step === "number" && isOnCurve(curve, step, value)) limits.add(limit);
  }
  return [...limits];
}

function isOnCurve(curve: Curve, step: number, value: number): boolean {
  const slack = Math.abs(value) * ROUNDING;
  for (let i = 0; i < curve.x.length; i++) {
    const previous = curve.x[i - 1] ?? -Infinity;
    const next = curve.x[i + 1] ?? Infinity;
    // An entry that sums up several points reaches at most to its neighbors.
    if (curve.exact ? curve.x[i] !== step : step < previous || step > next) continue;
    if (value >= curve.min[i]! - slack && value <= curve.max[i]! + slack) return true;
  }
  return false;
}
