// Histograms over steps as a ridgeline plot: one outline per step, each slightly below the previous one.

import type { Histograms as AllHistograms } from "../../../api/types";

type Histograms = Omit<AllHistograms, "total">;

/** How far the pointer may be from a ridge, in pixels. */
const MAX_DISTANCE = 30;
/** Buckets narrower than this fraction of the range are drawn this wide. */
const MIN_BUCKET_FRAC = 0.02;
/** Values that are closer than this, relative to their size, are the same. */
const MIN_RELATIVE_WIDTH = 1e-9;

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Ridge {
  index: number;
  step: number;
  wallTime: number;
  /** 0 for the oldest, 1 for the newest. */
  age: number;
  baseline: number;
  points: [x: number, y: number][];
}

export interface Ridges {
  rows: Ridge[];
  /** The min and max over all steps. */
  valueRange: [min: number, max: number];
}

/** Lays out ridges in a box. Offset: the newest in front, at the bottom. Overlay: all on the same baseline. */
export function layOutRidges(
  histograms: Histograms,
  box: Box,
  mode: "offset" | "overlay",
  by: "step" | "wall",
): Ridges {
  const { steps, wall_times: times, lefts, rights, counts } = histograms;
  let low = Infinity;
  let high = -Infinity;
  const visit = (use: (row: number, bucket: number) => void) =>
    counts.forEach((row, i) => row.forEach((count, j) => count > 0 && use(i, j)));
  let widest = 0;
  visit((i, j) => {
    const [left, right] = [lefts[i]![j]!, rights[i]![j]!];
    low = Math.min(low, left);
    high = Math.max(high, right);
    widest = Math.max(widest, right - left);
  });
  if (high - low < 2 * widest) {
    // All values are in one bucket: with the empty ones next to it, the outline is a peak and not a single point.
    low -= widest;
    high += widest;
  }
  if (low > high) [low, high] = [0, 1];
  if (!(high - low > MIN_RELATIVE_WIDTH * Math.abs(low))) {
    // All values are the same: a range around them, in which they are a narrow peak.
    const margin = Math.abs(low) * 0.1 || 0.5;
    [low, high] = [low - margin, high + margin];
  }
  const minWidth = (high - low) * MIN_BUCKET_FRAC;
  let maxDensity = 0;
  visit((i, j) => (maxDensity = Math.max(maxDensity, density(histograms, i, j, minWidth))));
  const positions = by === "step" ? steps : times;
  const [first, last] = [positions[0] ?? 0, positions[positions.length - 1] ?? 1];
  const ridgeHeight = mode === "offset" ? box.height * 0.35 : box.height * 0.95;
  const bottom = box.top + box.height;
  const rows = counts.map((row, i): Ridge => {
    const frac = last > first ? (positions[i]! - first) / (last - first) : 1;
    const baseline = mode === "offset" ? bottom - (1 - frac) * (box.height - ridgeHeight) : bottom;
    const x = (value: number) => box.left + ((value - low) / (high - low)) * box.width;
    const points: [number, number][] = [];
    row.forEach((_, j) => {
      const [left, right] = [lefts[i]![j]!, rights[i]![j]!];
      const middle = (left + right) / 2;
      if (middle < low || middle > high) return;
      const top = baseline - (maxDensity > 0 ? (density(histograms, i, j, minWidth) / maxDensity) * ridgeHeight : 0);
      // A bucket without width is a peak, not a point on an outline.
      const narrow = right - left < minWidth;
      if (narrow) points.push([x(middle - minWidth / 2), baseline]);
      points.push([x(middle), top]);
      if (narrow) points.push([x(middle + minWidth / 2), baseline]);
    });
    return {
      index: i,
      step: steps[i]!,
      wallTime: times[i]!,
      age: counts.length > 1 ? i / (counts.length - 1) : 1,
      baseline,
      points,
    };
  });
  return { rows, valueRange: [low, high] };
}

/** Counts per unit of width, so that wide buckets do not look fuller than they are. */
function density(histograms: Histograms, row: number, bucket: number, minWidth: number): number {
  const width = histograms.rights[row]![bucket]! - histograms.lefts[row]![bucket]!;
  return histograms.counts[row]![bucket]! / Math.max(width, minWidth);
}

/** The ridge and bucket at a position; null if none is near. */
export function bucketAt(
  ridges: Ridges,
  histograms: Histograms,
  x: number,
  y: number,
): { ridge: Ridge; bucket: number } | null {
  let best: { ridge: Ridge; bucket: number } | null = null;
  let bestDistance = Infinity;
  for (const ridge of ridges.rows) {
    let nearest = -1;
    let nearestDistance = Infinity;
    ridge.points.forEach(([px], j) => {
      if (Math.abs(px - x) < nearestDistance) {
        nearestDistance = Math.abs(px - x);
        nearest = j;
      }
    });
    if (nearest < 0) continue;
    const [, top] = ridge.points[nearest]!;
    const distance = y >= top && y <= ridge.baseline ? 0 : Math.min(Math.abs(y - top), Math.abs(y - ridge.baseline));
    // If two are equally near, the newer one is in front.
    if (distance <= bestDistance) {
      bestDistance = distance;
      best = { ridge, bucket: firstVisibleBucket(ridges, histograms, ridge) + nearest };
    }
  }
  return bestDistance < MAX_DISTANCE ? best : null;
}

function firstVisibleBucket(ridges: Ridges, histograms: Histograms, ridge: Ridge): number {
  const { lefts, rights } = histograms;
  const row = ridge.index;
  return lefts[row]!.findIndex((left, j) => (left + rights[row]![j]!) / 2 >= ridges.valueRange[0]);
}
