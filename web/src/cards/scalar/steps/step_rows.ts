// The table of a card at selected steps: what to request, and a row per curve.

import type { Curve } from "../../../api/columns";
import { nearestIndex } from "../../../charts/axes/sorted";
import type { Line } from "../../../charts/drawing/curves";
import type { CurveRequest } from "../curves/scalar_curves.svelte";

export type Steps = [first: number, last: number];

/** The values of one curve at a step, or between two steps. Null where the curve has none. */
export interface StepRow {
  key: string;
  label: string;
  color: string;
  /** The step of the value: the logged one nearest to the selected one; null for a range. */
  step: number | null;
  /** The value at the step, or at the end of the range. */
  value: number | null;
  smooth: number | null;
  /** The value at the start of the range. */
  start: number | null;
  change: number | null;
  min: number | null;
  max: number | null;
  /** How far the value is above that of the baseline. */
  difference: number | null;
}
export type StepColumn = Exclude<keyof StepRow, "key" | "color">;

/** The request for the points at the selected steps, from a card's request for its curves. */
export function stepRequest(request: CurveRequest, [first, last]: Steps): CurveRequest {
  const { options } = request;
  // The nearest points on both sides are needed if none was logged at the step itself.
  const neighbors = first === last;
  return { ...request, options: { ...options, from: first, to: last, buckets: 1, log_x: false, neighbors } };
}

/** A row per line, in the order of the lines. `curves` has the points at the selected steps by key of the line. */
export function stepRows(lines: Line[], curves: Map<string, Curve>, steps: Steps, baseline: string | null): StepRow[] {
  const rows = lines.map((line) => {
    const { key, label, color } = line;
    return { line, row: { key, label, color, ...valuesAt(curves.get(key), steps), difference: null } as StepRow };
  });
  const levels = new Map(
    rows.filter(({ line }) => line.curve.run === baseline).map(({ line, row }) => [line.curve.tag, row.value]),
  );
  for (const { line, row } of rows) {
    const level = levels.get(line.curve.tag) ?? null;
    if (line.curve.run !== baseline && level !== null && row.value !== null) row.difference = row.value - level;
  }
  return rows.map(({ row }) => row);
}

type Values = Omit<StepRow, "key" | "label" | "color" | "difference">;
const NOTHING: Values = { step: null, value: null, smooth: null, start: null, change: null, min: null, max: null };

function valuesAt(curve: Curve | undefined, [first, last]: Steps): Values {
  if (!curve || curve.x.length === 0) return NOTHING;
  return first === last ? valuesAtStep(curve, first) : valuesBetween(curve);
}

function valuesAtStep(curve: Curve, step: number): Values {
  const { x, extent, smooth } = curve;
  if (extent && (step < extent[0] || step > extent[1])) return NOTHING;
  const index = nearestIndex(x, step);
  const value = valueOf(curve, index);
  return { ...NOTHING, step: x[index]!, value, smooth: smooth?.[index] ?? null };
}

function valuesBetween(curve: Curve): Values {
  const end = curve.x.length - 1;
  const start = curve.exact ? curve.y[0]! : curve.first[0]!;
  const value = valueOf(curve, end);
  let [min, max] = [Infinity, -Infinity];
  for (let i = 0; i <= end; i++) {
    if (curve.min[i]! < min) min = curve.min[i]!;
    if (curve.max[i]! > max) max = curve.max[i]!;
  }
  return {
    step: null,
    value,
    smooth: curve.smooth?.[end] ?? null,
    start,
    change: value - start,
    min: Number.isFinite(min) ? min : null,
    max: Number.isFinite(max) ? max : null,
  };
}

function valueOf(curve: Curve, index: number): number {
  return curve.exact ? curve.y[index]! : curve.last[index]!;
}

/** A sorted copy. Missing values and NaN come last in either direction. */
export function sortStepRows(rows: StepRow[], by: StepColumn, descending: boolean): StepRow[] {
  const direction = descending ? -1 : 1;
  const missing = (value: unknown) => value === null || Number.isNaN(value);
  return [...rows].sort((a, b) => {
    const [left, right] = [a[by], b[by]];
    if (missing(left) || missing(right)) return Number(missing(left)) - Number(missing(right));
    if (typeof left === "string") return left.localeCompare(String(right)) * direction;
    return ((left as number) - (right as number)) * direction;
  });
}
