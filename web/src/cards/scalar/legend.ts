// The legend of a scalar card.

import type { Curve } from "../../api/columns";
import type { Line } from "../../charts/drawing/curves";

export interface LegendEntry extends Line {
  /** The last logged value. */
  last: number;
  /** The last smoothed value. */
  smooth: number | null;
}

/** The lines with their last values, largest first and NaN last. */
export function legendEntries(lines: Line[]): LegendEntry[] {
  return lines
    .map((line) => ({ ...line, last: lastValue(line.curve), smooth: line.curve.smooth?.at(-1) ?? null }))
    .sort((a, b) => (Number.isNaN(a.last) ? 1 : Number.isNaN(b.last) ? -1 : b.last - a.last));
}

function lastValue(curve: Curve): number {
  return (curve.exact ? curve.y : curve.last).at(-1) ?? NaN;
}
