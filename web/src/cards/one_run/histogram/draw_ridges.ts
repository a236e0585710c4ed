// Draws a ridgeline plot on a canvas.

import { niceTicks } from "../../../charts/axes/ticks";
import { CHART_FONT } from "../../../charts/axes/plot_axes";
import { withAlpha } from "../../../ui/color";
import { formatTime, withThousands } from "../../../ui/text/format";
import type { ThemeColors } from "../../../ui/theme.svelte";
import type { Ridge, Ridges } from "./ridges";

export const MARGIN = { left: 12, top: 10, right: 46, bottom: 22 };

export interface PointedBucket {
  ridge: Ridge;
  bucket: number;
}

export interface RidgeStyle {
  mode: "offset" | "overlay";
  by: "step" | "wall";
  color: string;
  colors: ThemeColors;
}

interface Size {
  width: number;
  height: number;
}

export function drawRidges(
  context: CanvasRenderingContext2D,
  size: Size,
  ridges: Ridges,
  pointed: PointedBucket | null,
  style: RidgeStyle,
): void {
  context.font = CHART_FONT;
  drawTicks(context, size, ridges, style);
  for (const ridge of ridges.rows) {
    if (ridge.points.length > 0) drawRidge(context, ridge, pointed?.ridge.index === ridge.index, style);
  }
  if (style.mode === "offset") labelRidges(context, size, ridges, style);
  if (pointed) drawPointedBucket(context, pointed, style);
}

function drawTicks(
  context: CanvasRenderingContext2D,
  { width, height }: Size,
  ridges: Ridges,
  style: RidgeStyle,
): void {
  context.fillStyle = style.colors.text;
  context.strokeStyle = style.colors.grid;
  context.textAlign = "center";
  const [low, high] = ridges.valueRange;
  const ticks = niceTicks(ridges.valueRange, false, 5);
  ticks.labels.forEach((label, i) => {
    const x = MARGIN.left + ((ticks.values[i]! - low) / (high - low)) * (width - MARGIN.left - MARGIN.right);
    context.beginPath();
    context.moveTo(x, MARGIN.top);
    context.lineTo(x, height - MARGIN.bottom);
    context.stroke();
    context.fillText(label, x, height - 6);
  });
}

function drawRidge(context: CanvasRenderingContext2D, ridge: Ridge, pointed: boolean, style: RidgeStyle): void {
  const { mode, color, colors } = style;
  context.beginPath();
  context.moveTo(ridge.points[0]![0], ridge.baseline);
  for (const [x, y] of ridge.points) context.lineTo(x, y);
  context.lineTo(ridge.points[ridge.points.length - 1]![0], ridge.baseline);
  if (mode === "offset") {
    context.fillStyle = colors.card;
    context.fill();
    context.fillStyle = withAlpha(color, 0.15 + 0.55 * ridge.age);
    context.fill();
  }
  const outline = mode === "offset" ? withAlpha(colors.card, 0.9) : withAlpha(color, 0.15 + 0.85 * ridge.age);
  context.strokeStyle = pointed ? colors.text : outline;
  context.lineWidth = pointed ? 1.8 : 1;
  context.stroke();
}

/** Labels the first, middle and last ridge with its step or time. */
function labelRidges(context: CanvasRenderingContext2D, { width }: Size, { rows }: Ridges, style: RidgeStyle): void {
  context.fillStyle = style.colors.text;
  context.textAlign = "left";
  const last = rows.length - 1;
  for (const [i, ridge] of rows.entries()) {
    if (i !== 0 && i !== last && i !== Math.round(last / 2)) continue;
    const label = style.by === "step" ? withThousands(ridge.step) : formatTime(ridge.wallTime).slice(11, 16);
    context.fillText(label, width - MARGIN.right + 6, ridge.baseline + 3);
  }
}

function drawPointedBucket(context: CanvasRenderingContext2D, pointed: PointedBucket, style: RidgeStyle): void {
  const { points } = pointed.ridge;
  const point = points[Math.min(pointed.bucket, points.length - 1)];
  if (!point) return;
  context.beginPath();
  context.arc(point[0], point[1], 3.5, 0, 7);
  context.fillStyle = style.colors.text;
  context.fill();
}
