// The range of an axis: of all data, of the visible data, and while zooming and panning.

import type { Curve } from "../../api/columns";
import type { XAxis } from "../../api/types";
import { lowerBound } from "./sorted";

export type Range = [from: number, to: number];

/** The range around a single x, in the unit of its axis. */
const SINGLE_X_MARGIN: Record<string, number> = { step: 1, relative: 1, wall: 30 };

/** The range of x over the points that curves have now; null if there is nothing to draw. */
export function xRange(curves: Curve[], log = false, kind: XAxis = "step"): Range | null {
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
  const margin = SINGLE_X_MARGIN[kind] ?? (Math.abs(from) * 0.01 || 1);
  return [from - margin, to + margin];
}

/** The range of x over all points of the series, also those outside a zoomed window; null if there are none. */
export function fullXRange(curves: Curve[], log: boolean): Range | null {
  let from = Infinity;
  let to = -Infinity;
  for (const { extent } of curves) {
    if (!extent || (log && !(extent[0] > 0))) continue;
    from = Math.min(from, extent[0]);
    to = Math.max(to, extent[1]);
  }
  return from < to ? [from, to] : null;
}

/** Narrower ranges cannot be drawn: neighboring floating point numbers are this far apart. */
const MIN_RELATIVE_WIDTH = 1e-12;

/** A zoomed range moved and narrowed into the full one; null if it covers all of that. */
export function limitRange([from, to]: Range, full: Range | null): Range | null {
  if (full === null) return [from, to];
  const width = to - from;
  const size = Math.max(Math.abs(from), Math.abs(to), Number.MIN_VALUE);
  if (!(width < full[1] - full[0])) return null;
  if (!(width > size * MIN_RELATIVE_WIDTH)) return null;
  if (from < full[0]) return [full[0], full[0] + width];
  if (to > full[1]) return [full[1] - width, full[1]];
  return [from, to];
}

export interface YOptions {
  log: boolean;
  ignoreOutliers: boolean;
  /** Whether orphaned points count. */
  orphans: boolean;
}

/** The range of y within a range of x, with a small margin; null if there are no finite values. */
export function yRange(curves: Curve[], x: Range, options: YOptions): Range | null {
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
  visitValues(curves, x, options, add);
  if (highs.length === 0) return null;
  const range: Range = options.ignoreOutliers
    ? rangeWithoutOutliers(lows, highs, options.log)
    : [min(lows), max(highs)];
  return withMargin(range, options.log);
}

/** How many entries are outside a range of y. An entry that sums up several points counts once. */
export function countOutside(curves: Curve[], x: Range, [bottom, top]: Range, options: YOptions): number {
  let count = 0;
  visitValues(curves, x, options, (low, high) => {
    // A logarithmic axis has no place for zero and less, which are not outliers.
    const below = low < bottom && !(options.log && low <= 0);
    if (Number.isFinite(low) && Number.isFinite(high) && (below || high > top)) count += 1;
  });
  return count;
}

function visitValues(
  curves: Curve[],
  [from, to]: Range,
  options: YOptions,
  visit: (low: number, high: number) => void,
): void {
  const counted = options.orphans
    ? curves.flatMap((curve) => (curve.orphans ? [curve, curve.orphans] : [curve]))
    : curves;
  for (const curve of counted) {
    const start = lowerBound(curve.x, from);
    for (let i = start; i < curve.x.length && curve.x[i]! <= to; i++) {
      if (curve.low && curve.high) visit(curve.low[i]!, curve.high[i]!);
      else visit(curve.min[i]!, curve.max[i]!);
    }
    for (const edge of [from, to]) {
      const value = valueBetween(curve, edge);
      if (value !== null) visit(value, value);
    }
  }
}

/** Where the line between two points crosses an x; null if x is not between two points. */
function valueBetween(curve: Curve, at: number): number | null {
  const right = lowerBound(curve.x, at);
  if (right === 0 || right === curve.x.length || curve.x[right] === at) return null;
  const [before, after] = curve.exact ? [curve.y, curve.y] : [curve.last, curve.first];
  const [x0, x1] = [curve.x[right - 1]!, curve.x[right]!];
  const value = before[right - 1]! + ((after[right]! - before[right - 1]!) * (at - x0)) / (x1 - x0);
  return Number.isFinite(value) ? value : null;
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

/** At most this fraction of the values, at each end, are outliers. */
const OUTLIER_FRAC = 0.01;
/** How far outside the range of the others outliers are, in widths of that range. */
const OUTLIER_DISTANCE = 2;

/** The range without the few values that are so far away that the others would be a flat line. */
function rangeWithoutOutliers(lows: number[], highs: number[], log: boolean): Range {
  const scaled = (values: number[]) => {
    const sorted = Float64Array.from(values).sort();
    return log ? sorted.map(Math.log) : sorted;
  };
  const [sortedLows, sortedHighs] = [scaled(lows), scaled(highs)];
  const at = (sorted: Float64Array, frac: number) => sorted[Math.round(frac * (sorted.length - 1))]!;
  const [low, high] = [at(sortedLows, OUTLIER_FRAC), at(sortedHighs, 1 - OUTLIER_FRAC)];
  // If all others are equal, there is nothing to flatten.
  const distance = high > low ? OUTLIER_DISTANCE * (high - low) : Infinity;
  const [lowest, highest] = [sortedLows[0]!, sortedHighs[sortedHighs.length - 1]!];
  const range: Range = [lowest < low - distance ? low : lowest, highest > high + distance ? high : highest];
  return log ? [Math.exp(range[0]), Math.exp(range[1])] : range;
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
