// Draws what is behind the curves: bands of healthy and unhealthy values, shaded findings, restarts and limit lines.

import { withAlpha } from "../../ui/color";
import type { ThemeColors } from "../../ui/theme.svelte";
import type { PlotArea } from "./plot_area";
import type { ShadedRange } from "./shading";

/** A range of y that a profile calls healthy or not. */
export interface Band {
  kind: "healthy" | "warning" | "critical";
  from: number | null;
  to: number | null;
}

export interface Background {
  bands: Band[];
  /** Ranges of x in which something was found. */
  shaded: ShadedRange[];
  /** Where runs were restarted. */
  restarts: number[];
  /** The first and last selected x; null if none is. */
  selected: [number, number] | null;
  /** Thresholds, drawn as horizontal lines. */
  limits: number[];
}

export function drawBackground(area: PlotArea, background: Background, colors: ThemeColors): void {
  for (const band of background.bands) drawBand(area, band, colors);
  for (const range of background.shaded) drawShading(area, range, colors);
  area.context.lineWidth = area.ratio;
  if (background.selected) drawSelection(area, background.selected, colors);
  if (background.restarts.length > 0) drawRestarts(area, background.restarts, colors);
  if (background.limits.length > 0) drawLimits(area, background.limits, colors);
  area.context.setLineDash([]);
}

function drawBand({ context, scales, box }: PlotArea, band: Band, colors: ThemeColors): void {
  const position = (value: number | null, edge: number) => {
    if (value === null) return edge;
    const y = scales.y(value);
    return Number.isFinite(y) ? Math.max(box.top, Math.min(box.top + box.height, y)) : edge;
  };
  const bottom = position(band.from, box.top + box.height);
  const top = position(band.to, box.top);
  if (bottom - top < 1) return;
  context.fillStyle = withAlpha(band.kind === "healthy" ? colors.ok : colors[band.kind], 0.1);
  context.fillRect(box.left, top, box.width, bottom - top);
}

function drawShading({ context, scales, box, ratio }: PlotArea, range: ShadedRange, colors: ThemeColors): void {
  const left = Math.max(box.left, scales.x(range.from));
  const right = Math.min(box.left + box.width, Math.max(scales.x(range.to), left + 2 * ratio));
  if (!(right > left)) return;
  context.fillStyle = withAlpha(colors[range.severity], 0.1);
  context.fillRect(left, box.top, right - left, box.height);
  context.fillStyle = withAlpha(colors[range.severity], 0.85);
  context.fillRect(left, box.top, right - left, 2 * ratio);
}

function drawRestarts({ context, scales, box, ratio }: PlotArea, restarts: number[], colors: ThemeColors): void {
  context.strokeStyle = withAlpha(colors.text, 0.55);
  context.setLineDash([2 * ratio, 4 * ratio]);
  context.beginPath();
  for (const restart of restarts) {
    const x = Math.round(scales.x(restart)) + 0.5;
    context.moveTo(x, box.top);
    context.lineTo(x, box.top + box.height);
  }
  context.stroke();
}

function drawSelection({ context, scales, box }: PlotArea, selected: [number, number], colors: ThemeColors): void {
  const [left, right] = selected.map((x) => Math.round(scales.x(x)) + 0.5) as [number, number];
  context.fillStyle = withAlpha(colors.text, 0.08);
  context.fillRect(left, box.top, right - left, box.height);
  context.strokeStyle = withAlpha(colors.text, 0.9);
  context.setLineDash([]);
  context.beginPath();
  for (const x of new Set([left, right])) {
    context.moveTo(x, box.top);
    context.lineTo(x, box.top + box.height);
  }
  context.stroke();
}

function drawLimits({ context, scales, box, ratio }: PlotArea, limits: number[], colors: ThemeColors): void {
  context.strokeStyle = colors.critical;
  context.setLineDash([5 * ratio, 3 * ratio]);
  context.beginPath();
  for (const limit of limits) {
    const y = Math.round(scales.y(limit)) + 0.5;
    context.moveTo(box.left, y);
    context.lineTo(box.left + box.width, y);
  }
  context.stroke();
}
