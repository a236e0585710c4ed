// Histograms over steps as ridges: one outline a step, each a little lower than the one before.

import type { Histograms } from "./api";

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
  /** The least and greatest value over all steps. */
  values: [number, number];
  most: number;
}

/** Lay out ridges in a box. Offset: the newest in front, at the foot. Overlay: all on one ground. */
export function layRidges(histograms: Histograms, box: Box, mode: "offset" | "overlay", by: "step" | "wall"): Ridges {
  const { steps, wall_times: times, lefts, rights, counts } = histograms;
  let low = Infinity;
  let high = -Infinity;
  let most = 0;
  counts.forEach((row, i) => {
    row.forEach((count, j) => {
      if (!(count > 0)) return;
      low = Math.min(low, lefts[i]![j]!);
      high = Math.max(high, rights[i]![j]!);
      most = Math.max(most, density(histograms, i, j));
    });
  });
  if (low > high) [low, high] = [0, 1];
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  const places = by === "step" ? steps : times;
  const [first, last] = [places[0] ?? 0, places[places.length - 1] ?? 1];
  const lift = mode === "offset" ? box.height * 0.35 : box.height * 0.95;
  const ground = box.top + box.height;
  const rows = counts.map((row, i): Ridge => {
    const share = last > first ? (places[i]! - first) / (last - first) : 1;
    const baseline = mode === "offset" ? ground - (1 - share) * (box.height - lift) : ground;
    const x = (value: number) => box.left + ((value - low) / (high - low)) * box.width;
    const points: [number, number][] = [];
    row.forEach((_, j) => {
      const middle = (lefts[i]![j]! + rights[i]![j]!) / 2;
      if (middle < low || middle > high) return;
      points.push([x(middle), baseline - (most > 0 ? (density(histograms, i, j) / most) * lift : 0)]);
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
  return { rows, values: [low, high], most };
}

/** Counts by the width of their bucket, so that wide buckets do not look full. */
function density(histograms: Histograms, row: number, bucket: number): number {
  const width = histograms.rights[row]![bucket]! - histograms.lefts[row]![bucket]!;
  return width > 0 ? histograms.counts[row]![bucket]! / width : 0;
}

/** The ridge and the bucket under a place of the drawing; null where there is none near. */
export function bucketAt(ridges: Ridges, histograms: Histograms, x: number, y: number): { ridge: Ridge; bucket: number } | null {
  let best: { ridge: Ridge; bucket: number } | null = null;
  let distance = Infinity;
  for (const ridge of ridges.rows) {
    let nearest = -1;
    let away = Infinity;
    ridge.points.forEach(([px], j) => {
      if (Math.abs(px - x) < away) {
        away = Math.abs(px - x);
        nearest = j;
      }
    });
    if (nearest < 0) continue;
    const [, top] = ridge.points[nearest]!;
    const off = y >= top && y <= ridge.baseline ? 0 : Math.min(Math.abs(y - top), Math.abs(y - ridge.baseline));
    // Of two that are equally near, the newer stands in front.
    if (off <= distance) {
      distance = off;
      best = { ridge, bucket: firstShown(ridges, histograms, ridge) + nearest };
    }
  }
  return distance < 30 ? best : null;
}

function firstShown(ridges: Ridges, histograms: Histograms, ridge: Ridge): number {
  const { lefts, rights } = histograms;
  const row = ridge.index;
  return lefts[row]!.findIndex((left, j) => (left + rights[row]![j]!) / 2 >= ridges.values[0]);
}
