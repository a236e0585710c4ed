// A chart as an SVG file, with axes and a legend.

import type { XAxis } from "../../api/types";
import type { ThemeColors } from "../../ui/theme.svelte";
import { formatX } from "../../ui/text/format";
import type { Range } from "../axes/range";
import { makeScale, type Scales } from "../axes/scale";
import { niceTicks } from "../axes/ticks";
import type { Line } from "../drawing/curves";
import { strokeRaw, strokeValues, type Pen } from "../drawing/path";

export interface SvgChart {
  title: string;
  x: Range;
  y: Range;
  logX: boolean;
  logY: boolean;
  xAxis: XAxis;
  smoothed: boolean;
  lines: Pick<Line, "label" | "color" | "curve">[];
  colors: Pick<ThemeColors, "card" | "text" | "grid">;
}

const MAX_LEGEND_ENTRIES = 30;
const LEGEND_COLUMNS = 3;

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export function chartToSvg(chart: SvgChart, width = 900, height = 480): string {
  const legend = chart.lines.slice(0, MAX_LEGEND_ENTRIES);
  const legendRows = Math.ceil(legend.length / LEGEND_COLUMNS);
  const box = { left: 64, top: 40, right: width - 16, bottom: height - 34 - legendRows * 18 };
  const scales: Scales = {
    x: makeScale(chart.x, box.left, box.right, chart.logX),
    y: makeScale(chart.y, box.bottom, box.top, chart.logY),
  };
  const elements = [
    ...axisElements(chart, box, scales),
    ...chart.lines.flatMap((line) => lineElements(line, chart, scales)),
    ...legendElements(legend, box),
  ];
  const isPath = (element: string) => element.startsWith("<path");
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
    `font-family="system-ui, sans-serif" font-size="11" fill="${chart.colors.text}">` +
    `<rect width="100%" height="100%" fill="${chart.colors.card}"/>` +
    `<clipPath id="box"><rect x="${box.left}" y="${box.top}" width="${box.right - box.left}" ` +
    `height="${box.bottom - box.top}"/></clipPath>` +
    `<text x="${box.left}" y="24" font-size="14" font-weight="600">${escapeXml(chart.title)}</text>` +
    `<g fill="none">${elements.filter(isPath).join("")}</g>` +
    elements.filter((element) => !isPath(element)).join("") +
    "</svg>"
  );
}

function axisElements(chart: SvgChart, box: Box, scales: Scales): string[] {
  const elements: string[] = [];
  const yTicks = niceTicks(chart.y, chart.logY, 6);
  yTicks.labels.forEach((label, i) => {
    const y = scales.y(yTicks.values[i]!).toFixed(1);
    elements.push(`<path d="M${box.left} ${y}H${box.right}" stroke="${chart.colors.grid}"/>`);
    elements.push(`<text x="${box.left - 8}" y="${y}" dy="4" text-anchor="end">${escapeXml(label)}</text>`);
  });
  for (const tick of niceTicks(chart.x, chart.logX, 7).values) {
    const x = scales.x(tick).toFixed(1);
    const label = escapeXml(formatX(tick, chart.xAxis));
    elements.push(`<path d="M${x} ${box.top}V${box.bottom}" stroke="${chart.colors.grid}"/>`);
    elements.push(`<text x="${x}" y="${box.bottom + 18}" text-anchor="middle">${label}</text>`);
  }
  return elements;
}

function lineElements({ color, curve }: SvgChart["lines"][number], chart: SvgChart, scales: Scales): string[] {
  const raw = new SvgPen();
  const smooth = chart.smoothed ? curve.smooth : null;
  const dots = strokeRaw(raw, curve, scales, ...chart.x);
  const stroke = smooth ? 'stroke-width="1" stroke-opacity="0.25"' : 'stroke-width="1.6"';
  const elements = [`<path d="${raw.path}" stroke="${color}" ${stroke} clip-path="url(#box)"/>`];
  if (smooth) {
    const pen = new SvgPen();
    strokeValues(pen, curve.x, smooth, scales, ...chart.x);
    elements.push(`<path d="${pen.path}" stroke="${color}" stroke-width="1.8" clip-path="url(#box)"/>`);
  }
  for (const [x, y] of dots) {
    elements.push(`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="2.6" fill="${color}"/>`);
  }
  return elements;
}

function legendElements(lines: SvgChart["lines"], box: Box): string[] {
  const columnWidth = (box.right - box.left) / LEGEND_COLUMNS;
  return lines.flatMap(({ label, color }, i) => {
    const x = box.left + (i % LEGEND_COLUMNS) * columnWidth;
    const y = box.bottom + 40 + Math.floor(i / LEGEND_COLUMNS) * 18;
    const text = escapeXml(label.length > 44 ? `${label.slice(0, 43)}…` : label);
    return [
      `<rect x="${x.toFixed(0)}" y="${y - 9}" width="10" height="10" rx="2" fill="${color}"/>`,
      `<text x="${(x + 16).toFixed(0)}" y="${y}">${text}</text>`,
    ];
  });
}

class SvgPen implements Pen {
  path = "";

  moveTo(x: number, y: number): void {
    this.path += `M${x.toFixed(1)} ${y.toFixed(1)}`;
  }

  lineTo(x: number, y: number): void {
    this.path += `L${x.toFixed(1)} ${y.toFixed(1)}`;
  }
}

/** Text that is safe in XML and HTML. Control characters are dropped. */
export function escapeXml(text: string): string {
  return (
    text
      .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
      // eslint-disable-next-line no-control-regex
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "")
  );
}
