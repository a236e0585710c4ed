// Saves a scalar card as a file.

import type { Line } from "../../charts/drawing/curves";
import { curvesToCsv, curvesToJson } from "../../charts/files/curve_files";
import { chartToSvg } from "../../charts/files/svg";
import type { LineChart } from "../../charts/line_chart";
import { view } from "../../state/view.svelte";
import { fileName, saveFile } from "../../ui/save_file";
import { themeColors } from "../../ui/theme.svelte";

export const FILE_KINDS = ["csv", "json", "png", "svg"] as const;
export type FileKind = (typeof FILE_KINDS)[number];

export interface SavedChart {
  tags: string[];
  lines: Line[];
  smoothed: boolean;
  chart: LineChart | null;
}

export function saveChart(kind: FileKind, card: SavedChart): void {
  const name = fileName(card.tags.join("_"), kind);
  const curves = card.lines.map((line) => line.curve);
  const xNames: Record<string, string> = { relative: "relative_time", wall: "wall_time" };
  const xName = xNames[view.x] ?? view.x.replace(/^tag:/, "");
  if (kind === "csv") saveFile(name, curvesToCsv(curves, xName), "text/csv");
  else if (kind === "json") saveFile(name, curvesToJson(curves, xName), "application/json");
  else if (card.chart && kind === "svg") saveSvg(name, card, card.chart);
  else if (card.chart?.canvas) savePng(name, card.chart.canvas);
}

function saveSvg(name: string, card: SavedChart, chart: LineChart): void {
  const { x, y } = chart.ranges;
  const svg = chartToSvg({
    title: card.tags.join(", "),
    x,
    y,
    logX: view.logX && view.x !== "wall",
    logY: view.logY && y[0] > 0,
    xAxis: view.x,
    smoothed: card.smoothed,
    lines: card.lines,
    colors: themeColors(),
  });
  saveFile(name, svg, "image/svg+xml");
}

function savePng(name: string, source: HTMLCanvasElement): void {
  const canvas = document.createElement("canvas");
  canvas.width = source.width;
  canvas.height = source.height;
  const context = canvas.getContext("2d")!;
  context.fillStyle = themeColors().card;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(source, 0, 0);
  canvas.toBlob((blob) => blob && saveFile(name, blob));
}
