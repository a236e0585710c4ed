// The legend of a scalar card.

import type { Curve } from "../../../api/columns";
import type { Range } from "../../../charts/axes/range";
import { lowerBound } from "../../../charts/axes/sorted";
import type { Line } from "../../../charts/drawing/curves";
import { withoutCommonEnd } from "../../../ui/text/common_end";

export interface LegendEntry extends Line {
  /** The label without what all lines end with. */
  shortLabel: string;
  /** The last logged value that is in view, or before it if none is in view; null if there is none. */
  last: number | null;
  /** The last smoothed value. */
  smooth: number | null;
  /** The smallest and largest finite value in view; null if there is none. */
  min: number | null;
  max: number | null;
}

/** The lines with their values in a range of x, the largest first and NaN last. */
export function legendEntries(lines: Line[], zoom: Range | null): LegendEntry[] {
  const shortLabels = withoutCommonEnd(lines.map((line) => line.label));
  return lines
    .map((line, i) => ({ ...line, shortLabel: shortLabels[i]!, ...valuesIn(line.curve, zoom) }))
    .sort((a, b) => rank(b) - rank(a));
}

function rank({ last }: LegendEntry): number {
  return last === null || Number.isNaN(last) ? -Infinity : last;
}

function valuesIn(curve: Curve, zoom: Range | null): Pick<LegendEntry, "last" | "smooth" | "min" | "max"> {
  const { x } = curve;
  let end = x.length;
  if (zoom) {
    end = lowerBound(x, zoom[1]);
    while (end < x.length && x[end] === zoom[1]) end += 1;
  }
  const start = zoom ? lowerBound(x, zoom[0]) : 0;
  let [min, max] = [Infinity, -Infinity];
  for (let i = start; i < end; i++) {
    const [low, high] = [curve.min[i]!, curve.max[i]!];
    if (Number.isFinite(low) && low < min) min = low;
    if (Number.isFinite(high) && high > max) max = high;
  }
  return {
    last: (curve.exact ? curve.y : curve.last)[end - 1] ?? null,
    smooth: curve.smooth?.[end - 1] ?? null,
    min: min === Infinity ? null : min,
    max: max === -Infinity ? null : max,
  };
}
