// What the tooltip shows: one reading per curve.

import type { Curve } from "../api/columns";
import { compareNames } from "../ui/text/natural_order";
import { nearestIndex } from "./axes/sorted";

export interface Reading {
  key: string;
  label: string;
  color: string;
  x: number;
  /** The logged value; for a pixel column with several points, the last one. */
  value: number;
  smooth: number | null;
  /** The min and max of the pixel column or band, if they differ. */
  bounds: [min: number, max: number] | null;
  /** How far above the baseline it is; null for the baseline itself, and where that has no value. */
  difference: number | null;
}

export type TooltipOrder = "nearest" | "value" | "name";

/**
 * The readings at an x. Curves that end well before it or start well after it are left out. `baseline` is the run that
 * the others are compared with.
 */
export function readCurves(
  lines: { key: string; label: string; color: string; curve: Curve }[],
  x: number,
  tolerance: number,
  baseline: string | null = null,
): Reading[] {
  const readings: Reading[] = [];
  const compared = new Map<Reading, Curve>();
  for (const { key, label, color, curve } of lines) {
    const index = nearestIndex(curve.x, x);
    if (index < 0) continue;
    const nearest = curve.x[index]!;
    const outside = x < curve.x[0]! || x > curve.x[curve.x.length - 1]!;
    if (outside && Math.abs(nearest - x) > tolerance) continue;
    const low = curve.low?.[index] ?? curve.min[index]!;
    const high = curve.high?.[index] ?? curve.max[index]!;
    const reading: Reading = {
      key,
      label,
      color,
      x: nearest,
      value: curve.exact ? curve.y[index]! : curve.last[index]!,
      smooth: curve.smooth ? curve.smooth[index]! : null,
      bounds: (!curve.exact || curve.low) && low !== high ? [low, high] : null,
      difference: null,
    };
    readings.push(reading);
    compared.set(reading, curve);
  }
  if (baseline !== null) addDifferences(compared, baseline);
  return readings;
}

function addDifferences(curves: Map<Reading, Curve>, baseline: string): void {
  const size = ({ smooth, value }: Reading) => smooth ?? value;
  const levels = new Map<string, number>();
  for (const [reading, { run, tag }] of curves) if (run === baseline) levels.set(tag, size(reading));
  for (const [reading, { run, tag }] of curves) {
    const level = levels.get(tag);
    if (run !== baseline && level !== undefined) reading.difference = size(reading) - level;
  }
}

/** The key of the reading nearest to a value; null if none is within reach. */
export function nearestReading(readings: Reading[], y: number, reach: number): string | null {
  let nearest: string | null = null;
  let least = reach;
  for (const { key, smooth, value } of readings) {
    const distance = Math.abs((smooth ?? value) - y);
    if (distance <= least) {
      least = distance;
      nearest = key;
    }
  }
  return nearest;
}

/** Sorts readings. `pointerY` is the value under the pointer, for "nearest". */
export function sortReadings(readings: Reading[], order: TooltipOrder, pointerY: number): Reading[] {
  const value = (reading: Reading) => reading.smooth ?? reading.value;
  const nanToInfinity = (number: number) => (Number.isNaN(number) ? Infinity : number);
  const distance = (reading: Reading) => nanToInfinity(Math.abs(value(reading) - pointerY));
  const size = (reading: Reading) => nanToInfinity(value(reading));
  const byName = (a: Reading, b: Reading) => compareNames(a.label, b.label);
  const compare = {
    name: byName,
    value: (a: Reading, b: Reading) => size(b) - size(a) || byName(a, b),
    nearest: (a: Reading, b: Reading) => distance(a) - distance(b) || byName(a, b),
  };
  return [...readings].sort(compare[order]);
}
