// Whether the evidence of a finding can be read on a linear axis.

import type { Curve } from "../../api/columns";

/** A curve whose largest value is this many times its median is a flat line with a spike on a linear axis. */
const MAX_RATIO = 100;

/** Whether a curve needs a logarithmic axis: all its values are positive, and the largest is far above most of them. */
export function needsLogY(curve: Curve): boolean {
  const values = Array.from(curve.max)
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  if (values.length === 0 || curve.min.some((value) => value <= 0)) return false;
  return values.at(-1)! > MAX_RATIO * values[values.length >> 1]!;
}
