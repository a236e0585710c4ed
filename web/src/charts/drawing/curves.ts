// Draws curves on a canvas: raw and smoothed lines, bands, orphaned points, and marks for NaN and infinities.

import type { Curve } from "../../api/columns";
import { withAlpha } from "../../ui/color";
import { findNonFinite, strokeRaw, strokeValues, type Dot } from "./path";
import { DOT_RADIUS, type PlotArea } from "./plot_area";

export interface Line {
  key: string;
  label: string;
  color: string;
  curve: Curve;
  dash?: number[];
}

export interface LineStyle {
  /** Draw smoothed curves, with the raw ones faint behind them. */
  smoothed: boolean;
  /** Draw orphaned points too. */
  orphans: boolean;
  /** The key of the line to draw in front of the others. */
  highlight: string | null;
}

/** With more lines than this, only smoothed curves are drawn, and thinner. */
const MANY_LINES = 40;

export function drawLines(area: PlotArea, lines: Line[], style: LineStyle): void {
  const { highlight } = style;
  const many = lines.length > MANY_LINES;
  area.context.lineJoin = "round";
  const order = highlight === null ? lines : [...lines].sort((a, b) => +(a.key === highlight) - +(b.key === highlight));
  for (const line of order) drawLine(area, line, style, many);
}

function drawLine(area: PlotArea, line: Line, style: LineStyle, many: boolean): void {
  const { context, scales, ratio } = area;
  const [from, to] = area.xRange;
  const { curve, color } = line;
  const highlighted = style.highlight === line.key;
  const opacity = style.highlight !== null && !highlighted ? 0.22 : 1;
  // Lines of one pixel are drawn ten times as fast as wider ones without a graphics card.
  const lineWidth = (highlighted ? 2.2 : many ? 1 : 1.6) * ratio;
  context.setLineDash(line.dash?.map((length) => length * ratio) ?? []);
  if (curve.low && curve.high) {
    context.fillStyle = withAlpha(color, 0.16 * opacity);
    fillBand(area, curve);
  }
  const dots: Dot[] = [];
  const smooth = style.smoothed ? curve.smooth : null;
  if (!smooth || !many || highlighted) {
    context.strokeStyle = withAlpha(color, (smooth ? 0.25 : 1) * opacity);
    // Slightly more than one pixel: at one pixel or less, browsers draw each segment separately, and the overlaps make
    // a dense curve opaque.
    context.lineWidth = smooth ? 1.01 * ratio : lineWidth;
    context.beginPath();
    const isolated = strokeRaw(context, curve, scales, from, to);
    context.stroke();
    if (!smooth || curve.x.length <= 1) dots.push(...isolated);
  }
  if (smooth) {
    context.strokeStyle = withAlpha(color, opacity);
    context.lineWidth = lineWidth;
    context.beginPath();
    dots.push(...strokeValues(context, curve.x, smooth, scales, from, to));
    context.stroke();
  }
  if (style.orphans && curve.orphans) {
    context.strokeStyle = withAlpha(color, 0.6 * opacity);
    context.setLineDash([3 * ratio, 3 * ratio]);
    context.lineWidth = ratio;
    context.beginPath();
    dots.push(...strokeRaw(context, curve.orphans, scales, from, to));
    context.stroke();
  }
  context.setLineDash([]);
  context.fillStyle = withAlpha(color, opacity);
  for (const [x, y] of dots) {
    context.beginPath();
    context.arc(x, y, DOT_RADIUS * ratio, 0, 2 * Math.PI);
    context.fill();
  }
  drawNonFinite(area, curve, color);
}

/** Draws NaNs as crosses along the bottom, and infinities as arrowheads at the edge where they left the chart. */
function drawNonFinite(area: PlotArea, curve: Curve, color: string): void {
  const { context, scales, ratio } = area;
  const points = findNonFinite(curve, ...area.xRange);
  if (points.length === 0) return;
  const { top, height } = area.box;
  const size = 3.2 * ratio;
  context.strokeStyle = color;
  context.fillStyle = color;
  context.lineWidth = 1.5 * ratio;
  const previous = { nan: -Infinity, inf: -Infinity, "-inf": -Infinity };
  for (const { x: value, kind } of points) {
    const x = scales.x(value);
    // Skip marks that would overlap the previous one.
    if (!Number.isFinite(x) || x - previous[kind] < 9 * ratio) continue;
    previous[kind] = x;
    context.beginPath();
    if (kind === "nan") {
      const y = top + height - 6 * ratio;
      context.moveTo(x - size, y - size);
      context.lineTo(x + size, y + size);
      context.moveTo(x + size, y - size);
      context.lineTo(x - size, y + size);
      context.stroke();
    } else {
      const up = kind === "inf";
      const y = up ? top + 2 * ratio : top + height - 2 * ratio;
      const base = y + (up ? 1 : -1) * size * 1.8;
      context.moveTo(x, y);
      context.lineTo(x - size, base);
      context.lineTo(x + size, base);
      context.fill();
    }
  }
}

function fillBand({ context, scales, xRange: [from, to] }: PlotArea, curve: Curve): void {
  const { x, low, high } = curve;
  let indexes: number[] = [];
  const fill = () => {
    if (indexes.length > 1) {
      context.beginPath();
      for (const i of indexes) context.lineTo(scales.x(x[i]!), scales.y(high![i]!));
      for (const i of indexes.reverse()) context.lineTo(scales.x(x[i]!), scales.y(low![i]!));
      context.closePath();
      context.fill();
    }
    indexes = [];
  };
  for (let i = 0; i < x.length; i++) {
    const visible = (x[i + 1] ?? x[i]!) >= from && (x[i - 1] ?? x[i]!) <= to;
    if (visible && Number.isFinite(scales.y(low![i]!)) && Number.isFinite(scales.y(high![i]!))) indexes.push(i);
    else fill();
  }
  fill();
}
