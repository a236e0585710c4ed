// Draws a heatmap with its axes on a canvas.

import type { Heatmap } from "../../api/columns";
import { CHART_FONT } from "../../charts/axes/plot_axes";
import { niceTicks } from "../../charts/axes/ticks";
import type { ThemeColors } from "../../ui/theme.svelte";
import { rowsOfLine, type Pixels } from "./heatmap_pixels";

export const MARGIN = { left: 44, top: 6, right: 12, bottom: 20 };
/** The smallest distance between labels of rows, in pixels. */
const LABEL_DISTANCE = 24;

interface Size {
  width: number;
  height: number;
}

/** The part of the canvas that has the cells. */
export function plotSize({ width, height }: Size): Size {
  return { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
}

export function drawHeatmap(
  context: CanvasRenderingContext2D,
  size: Size,
  heatmap: Heatmap,
  pixels: Pixels,
  colors: ThemeColors,
): void {
  const plot = plotSize(size);
  const image = document.createElement("canvas");
  image.width = pixels.width;
  image.height = pixels.height;
  image.getContext("2d")!.putImageData(new ImageData(pixels.data, pixels.width, pixels.height), 0, 0);
  // Cells have sharp edges: blurred ones would invent values.
  context.imageSmoothingEnabled = false;
  context.drawImage(image, MARGIN.left, MARGIN.top, plot.width, plot.height);
  context.font = CHART_FONT;
  context.fillStyle = colors.text;
  labelSteps(context, plot, heatmap);
  labelRows(context, plot, heatmap);
}

function labelSteps(context: CanvasRenderingContext2D, plot: Size, { span }: Heatmap): void {
  const ticks = niceTicks(span, false, Math.max(2, Math.floor(plot.width / 80)));
  context.textAlign = "center";
  ticks.labels.forEach((label, i) => {
    const share = span[1] > span[0] ? (ticks.values[i]! - span[0]) / (span[1] - span[0]) : 0.5;
    context.fillText(label, MARGIN.left + share * plot.width, MARGIN.top + plot.height + 15);
  });
}

function labelRows(context: CanvasRenderingContext2D, plot: Size, { members }: Heatmap): void {
  const count = Math.max(1, Math.min(members.length, Math.floor(plot.height / LABEL_DISTANCE)));
  context.textAlign = "right";
  for (let i = 0; i < count; i++) {
    const [row] = rowsOfLine(i, count, members.length);
    const y = MARGIN.top + ((row + 0.5) / members.length) * plot.height;
    context.fillText(members[row]!, MARGIN.left - 5, y + 4);
  }
}

/** The cell at a position on the canvas; null outside of the plot. */
export function cellAt(size: Size, { members, x }: Heatmap, left: number, top: number) {
  const plot = plotSize(size);
  const [across, down] = [(left - MARGIN.left) / plot.width, (top - MARGIN.top) / plot.height];
  if (across < 0 || across >= 1 || down < 0 || down >= 1) return null;
  return { row: Math.floor(down * members.length), column: Math.floor(across * x.length) };
}
