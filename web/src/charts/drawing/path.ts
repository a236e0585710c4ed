// Curves as pen strokes, for canvases and SVG files alike.

import type { Curve } from "../../api/columns";
import type { Scales } from "../axes/scale";
import { visibleIndexes } from "../axes/sorted";

export interface Pen {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
}

/** A point without neighbors, or several on the same pixel, which would be invisible as a line. */
export type Dot = [x: number, y: number];

/** A line that is shorter than this in both directions, in pixels, is drawn as a dot. */
const MIN_EXTENT = 1;

/** Draws unbroken lines through the points it visits, and collects those that need a dot. */
class Stroke {
  dots: Dot[] = [];
  y = NaN;
  private x = NaN;
  private points = 0;
  private left = 0;
  private right = 0;
  private top = 0;
  private bottom = 0;

  constructor(private pen: Pen) {}

  visit(x: number, y: number): void {
    if (this.points === 0) {
      this.left = this.right = x;
      this.top = this.bottom = y;
    } else {
      if (this.points === 1) this.pen.moveTo(this.x, this.y);
      this.pen.lineTo(x, y);
      if (x < this.left) this.left = x;
      else if (x > this.right) this.right = x;
      if (y < this.top) this.top = y;
      else if (y > this.bottom) this.bottom = y;
    }
    this.x = x;
    this.y = y;
    this.points += 1;
  }

  end(): void {
    const short = this.right - this.left < MIN_EXTENT && this.bottom - this.top < MIN_EXTENT;
    if (this.points === 1 || (this.points > 1 && short)) this.dots.push([this.x, this.y]);
    this.points = 0;
  }
}

/**
 * Draws a curve as it was logged. A pixel column that sums up several points is drawn from its first value through its
 * min and max to its last, so that a spike of a single step stays visible. NaN and infinities break the line. Returns
 * the points that need a dot.
 */
export function strokeRaw(pen: Pen, curve: Curve, scales: Scales, from: number, to: number): Dot[] {
  const [start, end] = visibleIndexes(curve.x, from, to);
  const stroke = new Stroke(pen);
  for (let i = start; i < end; i++) {
    const x = scales.x(curve.x[i]!);
    if (!Number.isFinite(x)) {
      stroke.end();
      continue;
    }
    if (curve.exact) {
      const y = scales.y(curve.y[i]!);
      if (Number.isFinite(y)) stroke.visit(x, y);
      else stroke.end();
      continue;
    }
    const low = scales.y(curve.min[i]!);
    const high = scales.y(curve.max[i]!);
    if (!Number.isFinite(high)) {
      stroke.end();
      continue;
    }
    const first = scales.y(curve.first[i]!);
    const last = scales.y(curve.last[i]!);
    stroke.visit(x, Number.isFinite(first) ? first : high);
    if (Number.isFinite(low) && low !== stroke.y) stroke.visit(x, low);
    if (high !== stroke.y) stroke.visit(x, high);
    if (Number.isFinite(last) && last !== stroke.y) stroke.visit(x, last);
  }
  stroke.end();
  return stroke.dots;
}

/** Draws one value per entry: a smoothed curve, a group's mean or an edge of its band. Returns points that need a dot. */
export function strokeValues(
  pen: Pen,
  x: ArrayLike<number>,
  y: ArrayLike<number>,
  scales: Scales,
  from: number,
  to: number,
): Dot[] {
  const [start, end] = visibleIndexes(x, from, to);
  const stroke = new Stroke(pen);
  for (let i = start; i < end; i++) {
    const px = scales.x(x[i]!);
    const py = scales.y(y[i]!);
    if (Number.isFinite(px) && Number.isFinite(py)) stroke.visit(px, py);
    else stroke.end();
  }
  stroke.end();
  return stroke.dots;
}

export interface NonFinitePoint {
  x: number;
  kind: "nan" | "inf" | "-inf";
}

/** Where NaNs and infinities are; at most one of each kind per entry. */
export function findNonFinite(curve: Curve, from: number, to: number, limit = 2000): NonFinitePoint[] {
  if (curve.nan === 0 && curve.inf === 0) return [];
  const [start, end] = visibleIndexes(curve.x, from, to);
  const found: NonFinitePoint[] = [];
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
