// Axes of parallel coordinates and scatter plots: values of any kind in a row from 0 to 1.

import { formatSetting, formatValue } from "./format";
import { naturally } from "./tags";

export interface Axis {
  name: string;
  kind: "linear" | "log" | "names";
  /** 0 to 1, or null where the value has no place. */
  place: (value: unknown) => number | null;
  marks: { at: number; label: string }[];
}

/** An axis that fits values: logarithmic where they span decades, names where they are not numbers. */
export function axisOf(name: string, values: unknown[]): Axis {
  const known = values.filter((value) => value !== null && value !== undefined);
  const numbers = known.filter((value): value is number => typeof value === "number" && Number.isFinite(value));
  if (numbers.length > 0 && known.every((value) => typeof value === "number")) return numberAxis(name, numbers);
  const names = [...new Set(known.map(formatSetting))].sort(naturally);
  const at = (index: number) => (names.length === 1 ? 0.5 : index / (names.length - 1));
  const places = new Map(names.map((label, index) => [label, at(index)]));
  return {
    name,
    kind: "names",
    place: (value) => (value === null || value === undefined ? null : (places.get(formatSetting(value)) ?? null)),
    marks: names.map((label, index) => ({ at: at(index), label })),
  };
}

function numberAxis(name: string, numbers: number[]): Axis {
  const distinct = [...new Set(numbers)].sort((a, b) => a - b);
  const [low, high] = [distinct[0]!, distinct[distinct.length - 1]!];
  const log = low > 0 && high / low >= 30;
  const scale = (value: number) => (log ? Math.log(value) : value);
  const span = scale(high) - scale(low);
  const place = (value: unknown): number | null => {
    if (typeof value !== "number" || !Number.isFinite(value) || (log && value <= 0)) return null;
    return span === 0 ? 0.5 : (scale(value) - scale(low)) / span;
  };
  const marked = distinct.length <= 6 ? distinct : [0, 0.25, 0.5, 0.75, 1].map((share) => (log ? Math.exp(scale(low) + span * share) : low + span * share));
  return {
    name,
    kind: log ? "log" : "linear",
    place,
    marks: marked.map((value) => ({ at: place(value)!, label: formatValue(value, 3) })),
  };
}

export type Brushes = Record<string, [number, number]>;

/** Whether a row lies within all brushes; a value without a place lies in none. */
export function passes(row: Record<string, unknown>, axes: Axis[], brushes: Brushes): boolean {
  for (const axis of axes) {
    const brush = brushes[axis.name];
    if (!brush) continue;
    const at = axis.place(row[axis.name]);
    if (at === null || at < brush[0] - 1e-9 || at > brush[1] + 1e-9) return false;
  }
  return true;
}

/** The names whose values are not the same in all rows that have one. */
export function varying(rows: Record<string, unknown>[], names: string[]): string[] {
  return names.filter((name) => new Set(rows.filter((row) => row[name] !== undefined && row[name] !== null).map((row) => formatSetting(row[name]))).size > 1);
}
