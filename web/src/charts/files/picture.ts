// A chart as a picture, SVG or PNG: the curves of the page with axes, and a title and a full legend on request.

import { niceTicks, timeTicks, type Ticks } from "../axes/ticks";
import { makeScale } from "../axes/scale";
import type { ChartState } from "../drawing/chart_options";
import { drawBackground } from "../drawing/background";
import { drawLines } from "../drawing/curves";
import { clipToArea, type DrawingContext } from "../drawing/plot_area";
import { SvgContext } from "./svg_context";

export interface Picture {
  width: number;
  /** Of the title and the plot; the legend comes below. */
  height: number;
  /** None for a picture that has its title and legend next to it. */
  title: string | null;
}

const FONT = "11px system-ui, sans-serif";
const TITLE_FONT = "600 14px system-ui, sans-serif";
const LEGEND_COLUMN = 280;
const LEGEND_ROW = 18;
/** The width of a digit in the font of labels; a picture may be drawn where text cannot be measured. */
const DIGIT_WIDTH = 6.6;
const PNG_SCALE = 2;

export function chartToSvg(chart: ChartState, picture: Picture, id = "chart"): string {
  const context = new SvgContext(id);
  const height = drawPicture(context, chart, picture);
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${picture.width}" height="${height}" ` +
    `viewBox="0 0 ${picture.width} ${height}" font-family="system-ui, sans-serif">${context.markup}</svg>`
  );
}

export function chartToPng(chart: ChartState, picture: Picture): Promise<Blob | null> {
  const canvas = document.createElement("canvas");
  canvas.width = picture.width * PNG_SCALE;
  canvas.height = pictureHeight(chart, picture) * PNG_SCALE;
  const context = canvas.getContext("2d")!;
  context.scale(PNG_SCALE, PNG_SCALE);
  drawPicture(context, chart, picture);
  return new Promise((resolve) => canvas.toBlob(resolve));
}

function legendColumns({ width }: Picture): number {
  return Math.max(1, Math.floor(width / LEGEND_COLUMN));
}

function pictureHeight({ options }: ChartState, picture: Picture): number {
  if (picture.title === null) return picture.height;
  return picture.height + Math.ceil(options.lines.length / legendColumns(picture)) * LEGEND_ROW + 10;
}

/** Draws the picture and returns its height. */
function drawPicture(context: DrawingContext, chart: ChartState, picture: Picture): number {
  const { options, x, y, logX, logY } = chart;
  const { colors } = options;
  const height = pictureHeight(chart, picture);
  context.fillStyle = colors.card;
  context.fillRect(0, 0, picture.width, height);
  if (picture.title !== null) {
    context.font = TITLE_FONT;
    context.fillStyle = colors.text;
    context.textAlign = "left";
    context.fillText(picture.title, 12, 24);
  }
  context.font = FONT;
  const xTicks = ticksOfX(chart, picture.width);
  const yTicks = niceTicks(y, logY, Math.max(2, Math.floor(picture.height / 50)));
  const gutter = Math.max(40, ...yTicks.labels.map((label) => label.length * DIGIT_WIDTH + 12));
  const lastLabel = (xTicks.labels.at(-1)?.length ?? 0) * DIGIT_WIDTH;
  const top = picture.title === null ? 6 : 38;
  const box = { left: gutter, top, width: picture.width - gutter - 8 - lastLabel / 2, height: 0 };
  box.height = picture.height - top - 24;
  const scales = {
    x: makeScale(x, box.left, box.left + box.width, logX),
    y: makeScale(y, box.top + box.height, box.top, logY),
  };
  drawGrid(context, chart, box, scales, xTicks, yTicks);
  context.save();
  const area = { context, scales, xRange: x, box, ratio: 1 };
  clipToArea(area, options.zoom !== null);
  drawBackground(area, options, colors);
  drawLines(area, options.lines, { ...options, highlight: null });
  context.restore();
  if (picture.title !== null) drawLegend(context, chart, picture);
  return height;
}

function ticksOfX({ options, x, logX }: ChartState, width: number): Ticks {
  const isTime = options.x === "wall" || options.x === "relative";
  const count = Math.max(2, Math.floor(width / (isTime ? 110 : 80)));
  return isTime && !logX ? timeTicks(x, count, options.x as "wall" | "relative") : niceTicks(x, logX, count);
}

interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

function drawGrid(
  context: DrawingContext,
  { options: { colors } }: ChartState,
  box: Box,
  scales: { x: (value: number) => number; y: (value: number) => number },
  xTicks: Ticks,
  yTicks: Ticks,
): void {
  context.strokeStyle = colors.grid;
  context.lineWidth = 1;
  context.setLineDash([]);
  context.beginPath();
  for (const tick of yTicks.values) {
    context.moveTo(box.left, scales.y(tick));
    context.lineTo(box.left + box.width, scales.y(tick));
  }
  for (const tick of xTicks.values) {
    context.moveTo(scales.x(tick), box.top);
    context.lineTo(scales.x(tick), box.top + box.height);
  }
  context.stroke();
  context.fillStyle = colors.text;
  context.textAlign = "right";
  yTicks.labels.forEach((label, i) => context.fillText(label, box.left - 6, scales.y(yTicks.values[i]!) + 4));
  context.textAlign = "center";
  xTicks.labels.forEach((label, i) => context.fillText(label, scales.x(xTicks.values[i]!), box.top + box.height + 16));
}

function drawLegend(context: DrawingContext, { options }: ChartState, picture: Picture): void {
  const columns = legendColumns(picture);
  const columnWidth = (picture.width - 24) / columns;
  context.textAlign = "left";
  options.lines.forEach(({ label, color }, i) => {
    const x = 12 + (i % columns) * columnWidth;
    const y = picture.height + 14 + Math.floor(i / columns) * LEGEND_ROW;
    context.fillStyle = color;
    context.fillRect(x, y - 9, 10, 10);
    context.fillStyle = options.colors.text;
    const room = Math.floor((columnWidth - 24) / DIGIT_WIDTH);
    // Names often differ only at their end.
    const half = Math.floor((room - 1) / 2);
    const shown = label.length > room ? `${label.slice(0, half)}…${label.slice(-half)}` : label;
    context.fillText(shown, x + 16, y);
  });
}

/** How to draw each chart on the page, by the element that holds it: for reports. */
const drawnCharts = new WeakMap<Element, () => ChartState | null>();

export function registerChart(element: Element, state: () => ChartState | null): void {
  drawnCharts.set(element, state);
}

/** The chart in an element as SVG; null if there is none. */
export function chartIn(element: Element, id: string): string | null {
  const state = drawnCharts.get(element)?.();
  if (!state) return null;
  const { clientWidth: width, clientHeight: height } = element;
  return width > 20 && height > 20 ? chartToSvg(state, { width, height, title: null }, id) : null;
}
