// The range of an axis: of all data, of the visible data, and while zooming and panning.

import type { Curve, Numbers } from "../../api/columns";
import { lowerBound } from "./sorted";

export type Range = [from: number, to: number];

/** The range of x over all curves; null if there is nothing to draw. */
export function xRange(curves: Curve[], log = false): Range | null {
  let from = Infinity;
  let to = -Infinity;
  for (const { x } of curves) {
    if (x.length === 0) continue;
    const start = log ? lowerBound(x, Number.MIN_VALUE) : 0;
    if (start >= x.length) continue;
    from = Math.min(from, x[start]!);
    to = Math.max(to, x[x.length - 1]!);
  }
  if (from > to) return null;
  if (from < to) return [from, to];
  if (log) return [from / 2, to * 2];
  const margin = Math.max(1, Math.abs(from) * 0.01);
  return [from - margin, to + margin];
}

export interface YOptions {
  log: boolean;
  ignoreOutliers: boolean;
  /** Whether orphaned points count. */
  orphans: boolean;
  /** Whether smoothed curves are drawn, in which case outliers of the raw curves may be cut off. */
  smoothed: boolean;
}

/** The range of y within a range of x, with a small margin; null if there are no finite values. */
export function yRange(curves: Curve[], [from, to]: Range, options: YOptions): Range | null {
  const lows: number[] = [];
  const highs: number[] = [];
  const add = (low: number, high: number) => {
    if (options.log) {
      if (!(high > 0)) return;
      if (!(low > 0)) low = high;
    }
    if (Number.isFinite(low)) lows.push(low);
    if (Number.isFinite(high)) highs.push(high);
  };
  const counted = options.orphans
    ? curves.flatMap((curve) => (curve.orphans ? [curve, curve.orphans] : [curve]))
    : curves;
  for (const curve of counted) {
    const start = lowerBound(curve.x, from);
    for (let i = start; i < curve.x.length && curve.x[i]! <= to; i++) {
      if (options.smoothed && options.ignoreOutliers && curve.smooth) add(curve.smooth[i]!, curve.smooth[i]!);
      else if (curve.low && curve.high) add(curve.low[i]!, curve.high[i]!);
      else add(curve.min[i]!, curve.max[i]!);
    }
  }
  if (highs.length === 0) return null;
  const range: Range = options.ignoreOutliers ? rangeWithoutOutliers(lows, highs) : [min(lows), max(highs)];
  return withMargin(range, options.log);
}

// Not Math.min(...values): that overflows the stack on long series.
function min(values: number[]): number {
  let found = Infinity;
  for (const value of values) if (value < found) found = value;
  return found;
}

function max(values: number[]): number {
  let found = -Infinity;
  for (const value of values) if (value > found) found = value;
  return found;
}

/** The middle ninety percent, as in TensorBoard. */
function rangeWithoutOutliers(lows: number[], highs: number[]): Range {
  const sortedLows = Float64Array.from(lows).sort();
  const sortedHighs = Float64Array.from(highs).sort();
  const quantile = (sorted: Float64Array, frac: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(frac * sorted.length))]!;
  return [quantile(sortedLows, 0.05), quantile(sortedHighs, 0.95)];
}

/** A range with a margin of 5% on each side. A range of a single value becomes wider around it. */
export function withMargin([from, to]: Range, log: boolean): Range {
  if (log) {
    if (from === to) return [from / 2, to * 2];
    const factor = (to / from) ** 0.05;
    return [from / factor, to * factor];
  }
  if (from === to) {
    const margin = from === 0 ? 1 : Math.abs(from) * 0.1;
    return [from - margin, to + margin];
  }
  const margin = (to - from) * 0.05;
  return [from - margin, to + margin];
}

/** The value at a fraction of a range. */
export function valueAt([from, to]: Range, frac: number, log = false): number {
  return log && from > 0 ? from * (to / from) ** frac : from + (to - from) * frac;
}

/** A range made wider (factor above 1) or narrower around a center. */
export function zoomRange([from, to]: Range, center: number, factor: number, log = false): Range {
  if (log && from > 0 && center > 0) {
    const [a, b] = zoomRange([Math.log(from), Math.log(to)], Math.log(center), factor);
    return [Math.exp(a), Math.exp(b)];
  }
  return [center - (center - from) * factor, center + (to - center) * factor];
}

/** A range moved by a fraction of its width. */
export function panRange([from, to]: Range, frac: number, log = false): Range {
  if (log && from > 0) {
    const [a, b] = panRange([Math.log(from), Math.log(to)], frac);
    return [Math.exp(a), Math.exp(b)];
  }
  const shift = (to - from) * frac;
  return [from + shift, to + shift];
}

/** The smallest finite value; NaN if there is none. */
export function finiteMin(values: Numbers): number {
  const found = min([...values].filter(Number.isFinite));
  return found === Infinity ? NaN : found;
}

/** The largest finite value; NaN if there is none. */
export function finiteMax(values: Numbers): number {
  const found = max([...values].filter(Number.isFinite));
  return found === -Infinity ? NaN : found;
}
