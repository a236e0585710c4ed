// How far an axis goes: over what is in view, with or without outliers.

import type { Curve, Numbers } from "./columns";
import { lowerBound } from "./path";

export type Range = [from: number, to: number];

/** The reach of x over all curves; null where there is nothing to draw. */
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
  if (from === to) return log ? [from / 2, to * 2] : [from - Math.max(1, Math.abs(from) * 0.01), to + Math.max(1, Math.abs(to) * 0.01)];
  return [from, to];
}

export interface YOptions {
  log: boolean;
  ignoreOutliers: boolean;
  /** Whether what a restart orphaned counts. */
  orphans: boolean;
  /** Whether the smoothed curve stands in front, so that outliers of the raw one may be cut. */
  smoothed: boolean;
}

/** The reach of y over what lies between two x, with a little air; null where nothing finite is there. */
export function yRange(curves: Curve[], [from, to]: Range, options: YOptions): Range | null {
  const lows: number[] = [];
  const highs: number[] = [];
  const take = (low: number, high: number) => {
    if (options.log) {
      if (!(high > 0)) return;
      if (!(low > 0)) low = high;
    }
    if (Number.isFinite(low)) lows.push(low);
    if (Number.isFinite(high)) highs.push(high);
  };
  const counted = options.orphans ? curves.flatMap((curve) => (curve.orphans ? [curve, curve.orphans] : [curve])) : curves;
  for (const curve of counted) {
    const start = lowerBound(curve.x, from);
    for (let i = start; i < curve.x.length && curve.x[i]! <= to; i++) {
      if (options.smoothed && options.ignoreOutliers && curve.smooth) take(curve.smooth[i]!, curve.smooth[i]!);
      else if (curve.low && curve.high) take(curve.low[i]!, curve.high[i]!);
      else take(curve.min[i]!, curve.max[i]!);
    }
  }
  if (highs.length === 0) return null;
  const range = options.ignoreOutliers ? withoutOutliers(lows, highs) : ([least(lows), greatest(highs)] as Range);
  return padded(range, options.log);
}

function least(values: number[]): number {
  let found = Infinity;
  for (const value of values) if (value < found) found = value;
  return found;
}

function greatest(values: number[]): number {
  let found = -Infinity;
  for (const value of values) if (value > found) found = value;
  return found;
}

/** The middle ninety percent, as TensorBoard cuts it. */
function withoutOutliers(lows: number[], highs: number[]): Range {
  const sortedLows = Float64Array.from(lows).sort();
  const sortedHighs = Float64Array.from(highs).sort();
  const at = (sorted: Float64Array, share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
  return [at(sortedLows, 0.05), at(sortedHighs, 0.95)];
}

/** A range with 5% of air on each side; a flat one opens up around its value. */
export function padded([from, to]: Range, log: boolean): Range {
  if (log) {
    if (from === to) return [from / 2, to * 2];
    const factor = (to / from) ** 0.05;
    return [from / factor, to * factor];
  }
  if (from === to) {
    const air = from === 0 ? 1 : Math.abs(from) * 0.1;
    return [from - air, to + air];
  }
  const air = (to - from) * 0.05;
  return [from - air, to + air];
}

/** The value at a share of a range. */
export function valueAt([from, to]: Range, share: number, log = false): number {
  return log && from > 0 ? from * (to / from) ** share : from + (to - from) * share;
}

/** A range grown (factor above 1) or shrunk around a place in it. */
export function zoomed([from, to]: Range, centre: number, factor: number, log = false): Range {
  if (log && from > 0 && centre > 0) {
    const [a, b] = zoomed([Math.log(from), Math.log(to)], Math.log(centre), factor);
    return [Math.exp(a), Math.exp(b)];
  }
  return [centre - (centre - from) * factor, centre + (to - centre) * factor];
}

/** A range moved by a share of its width. */
export function panned([from, to]: Range, share: number, log = false): Range {
  if (log && from > 0) {
    const [a, b] = panned([Math.log(from), Math.log(to)], share);
    return [Math.exp(a), Math.exp(b)];
  }
  const by = (to - from) * share;
  return [from + by, to + by];
}

/** The least finite value; NaN where there is none. */
export function leastOf(values: Numbers): number {
  const found = least([...values].filter(Number.isFinite));
  return found === Infinity ? NaN : found;
}

/** The greatest finite value; NaN where there is none. */
export function greatestOf(values: Numbers): number {
  const found = greatest([...values].filter(Number.isFinite));
  return found === -Infinity ? NaN : found;
}
