// Axes of parallel coordinates and scatter plots: they map values of any kind to positions from 0 to 1.

import { formatSetting, formatValue } from "../../ui/text/format";
import { compareNames } from "../../ui/text/natural_order";

/** Values that span at least this factor get a logarithmic axis. */
const LOG_FACTOR = 30;
/** With more distinct numbers than this, ticks are spread evenly. */
const MAX_TICKS = 6;

export interface ValueAxis {
  name: string;
  kind: "linear" | "log" | "names";
  /** The position of a value from 0 to 1, or null if it has none. */
  position: (value: unknown) => number | null;
  ticks: { position: number; label: string }[];
}

/** An axis for values: logarithmic if they span decades, names if they are not numbers. */
export function makeAxis(name: string, values: unknown[]): ValueAxis {
  const present = values.filter((value) => value !== null && value !== undefined);
  const numbers = present.filter((value): value is number => typeof value === "number" && Number.isFinite(value));
  if (numbers.length > 0 && present.every((value) => typeof value === "number")) return numberAxis(name, numbers);
  const names = [...new Set(present.map(formatSetting))].sort(compareNames);
  const positionAt = (index: number) => (names.length === 1 ? 0.5 : index / (names.length - 1));
  const positions = new Map(names.map((label, index) => [label, positionAt(index)]));
  return {
    name,
    kind: "names",
    position: (value) => (value === null || value === undefined ? null : (positions.get(formatSetting(value)) ?? null)),
    ticks: names.map((label, index) => ({ position: positionAt(index), label })),
  };
}

function numberAxis(name: string, numbers: number[]): ValueAxis {
  const distinct = [...new Set(numbers)].sort((a, b) => a - b);
  const [low, high] = [distinct[0]!, distinct[distinct.length - 1]!];
  const log = low > 0 && high / low >= LOG_FACTOR;
  const scale = (value: number) => (log ? Math.log(value) : value);
  const span = scale(high) - scale(low);
  const position = (value: unknown): number | null => {
    if (typeof value !== "number" || !Number.isFinite(value) || (log && value <= 0)) return null;
    return span === 0 ? 0.5 : (scale(value) - scale(low)) / span;
  };
  const spread = (frac: number) => (log ? Math.exp(scale(low) + span * frac) : low + span * frac);
  const ticks = distinct.length <= MAX_TICKS ? distinct : [0, 0.25, 0.5, 0.75, 1].map(spread);
  return {
    name,
    kind: log ? "log" : "linear",
    position,
    ticks: ticks.map((value) => ({ position: position(value)!, label: formatValue(value, 3) })),
  };
}

/** The range of positions to keep, by axis. */
export type Brushes = Record<string, [from: number, to: number]>;

/** Whether a row is within all brushes. A value without a position is in none. */
export function isWithinBrushes(row: Record<string, unknown>, axes: ValueAxis[], brushes: Brushes): boolean {
  for (const axis of axes) {
    const brush = brushes[axis.name];
    if (!brush) continue;
    const position = axis.position(row[axis.name]);
    if (position === null || position < brush[0] - 1e-9 || position > brush[1] + 1e-9) return false;
  }
  return true;
}

/** The names whose values differ between the rows that have one. */
export function varyingNames(rows: Record<string, unknown>[], names: string[]): string[] {
  const distinctValues = (name: string) => {
    const values = rows.map((row) => row[name]).filter((value) => value !== undefined && value !== null);
    return new Set(values.map(formatSetting)).size;
  };
  return names.filter((name) => distinctValues(name) > 1);
}
