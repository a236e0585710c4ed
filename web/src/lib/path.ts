// Curves as strokes of a pen: the same for a canvas and for an SVG file.

import type { Curve } from "./columns";

export interface Pen {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
}

/** Places of values on the drawing; NaN where a value has no place, such as zero on a logarithmic axis. */
export interface Scales {
  x: (value: number) => number;
  y: (value: number) => number;
}

/** A point that stands alone and would be lost as a line of no length. */
export type Dot = [x: number, y: number];

/** The entries from the last one left of `from` to the first one right of `to`. */
export function visible(x: ArrayLike<number>, from: number, to: number): [number, number] {
  return [Math.max(0, lowerBound(x, from) - 1), Math.min(x.length, lowerBound(x, to) + 1)];
}

/** The first index whose x is not below a value. Assumes rising x, which every window has. */
export function lowerBound(x: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (x[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Draw a curve as it was logged. A column of many points is a stroke from its first through its least and greatest to
 * its last, so that a spike of one step stays in sight. NaN and infinities break the line. Returns the lone points.
 */
export function strokeRaw(pen: Pen, curve: Curve, scales: Scales, from: number, to: number): Dot[] {
  const [start, end] = visible(curve.x, from, to);
  const dots: Dot[] = [];
  let pending: Dot | null = null;
  let drawing = false;
  const endLine = () => {
    if (pending && !drawing) dots.push(pending);
    pending = null;
    drawing = false;
  };
  const visit = (x: number, y: number) => {
    if (pending) {
      if (!drawing) pen.moveTo(pending[0], pending[1]);
      pen.lineTo(x, y);
      drawing = true;
    }
    pending = [x, y];
  };
  for (let i = start; i < end; i++) {
    const x = scales.x(curve.x[i]!);
    if (!Number.isFinite(x)) {
      endLine();
      continue;
    }
    if (curve.exact) {
      const y = scales.y(curve.y[i]!);
      if (Number.isFinite(y)) visit(x, y);
      else endLine();
      continue;
    }
    const low = scales.y(curve.min[i]!);
    const high = scales.y(curve.max[i]!);
    if (!Number.isFinite(high)) {
      endLine();
      continue;
    }
    const first = scales.y(curve.first[i]!);
    const last = scales.y(curve.last[i]!);
    visit(x, Number.isFinite(first) ? first : high);
    if (Number.isFinite(low) && low !== pending![1]) visit(x, low);
    if (high !== pending![1]) visit(x, high);
    if (Number.isFinite(last) && last !== pending![1]) visit(x, last);
  }
  endLine();
  return dots;
}

/** Draw one value an entry: the smoothed curve, a group's middle or an edge of its band. */
export function strokeValues(
  pen: Pen,
  x: ArrayLike<number>,
  y: ArrayLike<number>,
  scales: Scales,
  from: number,
  to: number,
): Dot[] {
  const [start, end] = visible(x, from, to);
  const dots: Dot[] = [];
  let previous: Dot | null = null;
  let drawing = false;
  for (let i = start; i < end; i++) {
    const px = scales.x(x[i]!);
    const py = scales.y(y[i]!);
    if (!Number.isFinite(px) || !Number.isFinite(py)) {
      if (previous && !drawing) dots.push(previous);
      previous = null;
      drawing = false;
      continue;
    }
    if (previous) {
      if (!drawing) pen.moveTo(previous[0], previous[1]);
      pen.lineTo(px, py);
      drawing = true;
    }
    previous = [px, py];
  }
  if (previous && !drawing) dots.push(previous);
  return dots;
}

export interface BadPoint {
  x: number;
  kind: "nan" | "inf" | "-inf";
}

/** Where NaN and infinities are, at most one mark a kind and entry. */
export function badPoints(curve: Curve, from: number, to: number, limit = 2000): BadPoint[] {
  if (curve.nan === 0 && curve.inf === 0) return [];
  const [start, end] = visible(curve.x, from, to);
  const found: BadPoint[] = [];
  for (let i = start; i < end && found.length < limit; i++) {
    const x = curve.x[i]!;
    if (x < from || x > to) continue;
    if (curve.exact) {
      const y = curve.y[i]!;
      if (Number.isNaN(y)) found.push({ x, kind: "nan" });
      else if (y === Infinity) found.push({ x, kind: "inf" });
      else if (y === -Infinity) found.push({ x, kind: "-inf" });
      continue;
    }
    if (curve.nanCounts?.[i]) found.push({ x, kind: "nan" });
    if (curve.plusInfCounts?.[i]) found.push({ x, kind: "inf" });
    if (curve.minusInfCounts?.[i]) found.push({ x, kind: "-inf" });
  }
  return found;
}
