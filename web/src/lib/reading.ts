// What a reader sees under the pointer: one line a curve.

import type { Curve } from "./columns";
import { lowerBound } from "./path";
import { naturally } from "./tags";

export interface Reading {
  key: string;
  label: string;
  colour: string;
  x: number;
  /** The value as logged; for a column of many points, its last. */
  value: number;
  smooth: number | null;
  /** The least and greatest of the column, where it holds many points. */
  reach: [number, number] | null;
}

/** The entry nearest to an x; -1 where the curve is empty. */
export function nearestIndex(x: ArrayLike<number>, at: number): number {
  if (x.length === 0) return -1;
  const right = lowerBound(x, at);
  if (right === 0) return 0;
  if (right === x.length) return x.length - 1;
  return at - x[right - 1]! <= x[right]! - at ? right - 1 : right;
}

export interface Drawn {
  key: string;
  label: string;
  colour: string;
  curve: Curve;
}

/** The readings at an x. Curves that end well before or begin well after it are left out. */
export function readingsAt(drawn: Drawn[], at: number, tolerance: number): Reading[] {
  const readings: Reading[] = [];
  for (const { key, label, colour, curve } of drawn) {
    const index = nearestIndex(curve.x, at);
    if (index < 0) continue;
    const x = curve.x[index]!;
    const outside = at < curve.x[0]! || at > curve.x[curve.x.length - 1]!;
    if (outside && Math.abs(x - at) > tolerance) continue;
    const low = curve.low?.[index] ?? curve.min[index]!;
    const high = curve.high?.[index] ?? curve.max[index]!;
    readings.push({
      key,
      label,
      colour,
      x,
      value: curve.exact ? curve.y[index]! : curve.last[index]!,
      smooth: curve.smooth ? curve.smooth[index]! : null,
      reach: (!curve.exact || curve.low) && low !== high ? [low, high] : null,
    });
  }
  return readings;
}

/** Readings in the order asked for; `y` is the pointer's value, for the nearest first. */
export function sortReadings(readings: Reading[], by: "nearest" | "value" | "name", y: number): Reading[] {
  const value = (reading: Reading) => reading.smooth ?? reading.value;
  const distance = (reading: Reading) => {
    const away = Math.abs(value(reading) - y);
    return Number.isNaN(away) ? Infinity : away;
  };
  const sorted = [...readings];
  if (by === "name") sorted.sort((a, b) => naturally(a.label, b.label));
  else if (by === "value") {
    const size = (reading: Reading) => (Number.isNaN(value(reading)) ? Infinity : value(reading));
    sorted.sort((a, b) => size(b) - size(a) || naturally(a.label, b.label));
  } else sorted.sort((a, b) => distance(a) - distance(b) || naturally(a.label, b.label));
  return sorted;
}
