// Metrics with one value per run, such as a final score: bars say more than dots.

import type { Line } from "../../../charts/drawing/curves";
import type { LegendEntry } from "./legend";

export interface SingleValue {
  entry: LegendEntry;
  /** Where the bar begins and how long it is, as fractions of the width; null if the value is not finite. */
  bar: { start: number; length: number } | null;
}

/** The bars of a card, or null if it has curves or only one run. */
export function singleValues(entries: LegendEntry[], lines: Line[]): SingleValue[] | null {
  if (lines.length < 2 || lines.some((line) => line.curve.points !== 1)) return null;
  const finite = entries.map((entry) => entry.last).filter((value) => value !== null && Number.isFinite(value));
  const [low, high] = [Math.min(0, ...(finite as number[])), Math.max(0, ...(finite as number[]))];
  const span = high - low || 1;
  return entries.map((entry) => {
    const value = entry.last;
    if (value === null || !Number.isFinite(value)) return { entry, bar: null };
    return { entry, bar: { start: (Math.min(0, value) - low) / span, length: Math.abs(value) / span } };
  });
}
