// A card's curves as files: CSV, JSON and SVG.

import type { Curve, Numbers } from "./columns";
import { strokeRaw, strokeValues, type Pen, type Scales } from "./path";
import type { Range } from "./range";
import { formatX } from "./format";
import { axisMarks } from "./ticks";

/** A name that every file system takes. */
export function fileName(text: string, ending: string): string {
  const plain = text.replace(/[^\p{L}\p{N}._-]+/gu, "_").replace(/^[_.]+|_+$/g, "");
  return `${plain.slice(0, 80) || "chart"}.${ending}`;
}

/** One field of a CSV file, quoted where it must be. */
export function csvField(value: string): string {
  return /[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

function spelled(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  return String(value);
}

/** What the card draws, as a long table. Columns of many points carry their least and greatest too. */
export function curvesToCsv(curves: Curve[], xName: string): string {
  const rows = [`run,tag,${xName},value,min,max,smoothed`];
  for (const curve of curves) {
    for (let i = 0; i < curve.x.length; i++) {
      const value = curve.exact ? curve.y[i]! : curve.last[i]!;
      rows.push(
        [
          csvField(curve.run),
          csvField(curve.tag),
          spelled(curve.x[i]!),
          spelled(value),
          spelled(curve.low?.[i] ?? curve.min[i]!),
          spelled(curve.high?.[i] ?? curve.max[i]!),
          curve.smooth ? spelled(curve.smooth[i]!) : "",
        ].join(","),
      );
    }
  }
  return rows.join("\n") + "\n";
}

/** The same as JSON. NaN and infinities are text, since JSON has no numbers for them. */
export function curvesToJson(curves: Curve[], xName: string): string {
  const numbers = (values: Numbers) => [...values].map((value) => (Number.isFinite(value) ? value : spelled(value)));
  return JSON.stringify(
    curves.map((curve) => ({
      run: curve.run,
      tag: curve.tag,
      points: curve.points,
      exact: curve.exact,
      [xName]: numbers(curve.x),
      value: numbers(curve.exact ? curve.y : curve.last),
      ...(curve.exact ? {} : { min: numbers(curve.min), max: numbers(curve.max) }),
      ...(curve.smooth ? { smoothed: numbers(curve.smooth) } : {}),
    })),
    null,
    1,
  );
}

export interface Picture {
  title: string;
  x: Range;
  y: Range;
  logX: boolean;
  logY: boolean;
  kind: "step" | "relative" | "wall";
  smoothed: boolean;
  lines: { label: string; colour: string; curve: Curve }[];
  text: string;
  ground: string;
  grid: string;
}

/** The card as a drawing that scales, with axes and a legend. */
export function toSvg(picture: Picture, width = 900, height = 480): string {
  const legend = picture.lines.slice(0, 30);
  const box = { left: 64, top: 40, right: width - 16, bottom: height - 34 - Math.ceil(legend.length / 3) * 18 };
  const scales: Scales = {
    x: placeOf(picture.x, box.left, box.right, picture.logX),
    y: placeOf(picture.y, box.bottom, box.top, picture.logY),
  };
  const parts: string[] = [];
  const yTicks = ticksOf(picture.y, picture.logY, 6);
  axisMarks(yTicks).forEach((label, i) => {
    const y = scales.y(yTicks[i]!).toFixed(1);
    parts.push(`<path d="M${box.left} ${y}H${box.right}" stroke="${picture.grid}"/>`);
    parts.push(`<text x="${box.left - 8}" y="${y}" dy="4" text-anchor="end">${escapeXml(label)}</text>`);
  });
  for (const tick of ticksOf(picture.x, picture.logX, 7)) {
    const x = scales.x(tick).toFixed(1);
    parts.push(`<path d="M${x} ${box.top}V${box.bottom}" stroke="${picture.grid}"/>`);
    parts.push(`<text x="${x}" y="${box.bottom + 18}" text-anchor="middle">${escapeXml(formatX(tick, picture.kind))}</text>`);
  }
  for (const { colour, curve } of picture.lines) {
    const raw = new SvgPen();
    const smooth = picture.smoothed ? curve.smooth : null;
    const dots = strokeRaw(raw, curve, scales, ...picture.x);
    parts.push(`<path d="${raw.text}" stroke="${colour}" stroke-width="${smooth ? 1 : 1.6}"${smooth ? ' stroke-opacity="0.25"' : ""} clip-path="url(#box)"/>`);
    if (smooth) {
      const pen = new SvgPen();
      strokeValues(pen, curve.x, smooth, scales, ...picture.x);
      parts.push(`<path d="${pen.text}" stroke="${colour}" stroke-width="1.8" clip-path="url(#box)"/>`);
    }
    for (const [x, y] of dots) parts.push(`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="2.6" fill="${colour}"/>`);
  }
  const column = (box.right - box.left) / 3;
  legend.forEach(({ label, colour }, i) => {
    const x = box.left + (i % 3) * column;
    const y = box.bottom + 40 + Math.floor(i / 3) * 18;
    parts.push(`<rect x="${x.toFixed(0)}" y="${y - 9}" width="10" height="10" rx="2" fill="${colour}"/>`);
    parts.push(`<text x="${(x + 16).toFixed(0)}" y="${y}">${escapeXml(label.length > 44 ? `${label.slice(0, 43)}…` : label)}</text>`);
  });
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
    `font-family="system-ui, sans-serif" font-size="11" fill="${picture.text}">` +
    `<rect width="100%" height="100%" fill="${picture.ground}"/>` +
    `<clipPath id="box"><rect x="${box.left}" y="${box.top}" width="${box.right - box.left}" height="${box.bottom - box.top}"/></clipPath>` +
    `<text x="${box.left}" y="24" font-size="14" font-weight="600">${escapeXml(picture.title)}</text>` +
    `<g fill="none">${parts.filter((part) => part.startsWith("<path")).join("")}</g>` +
    parts.filter((part) => !part.startsWith("<path")).join("") +
    "</svg>"
  );
}

class SvgPen implements Pen {
  text = "";
  moveTo(x: number, y: number): void {
    this.text += `M${x.toFixed(1)} ${y.toFixed(1)}`;
  }
  lineTo(x: number, y: number): void {
    this.text += `L${x.toFixed(1)} ${y.toFixed(1)}`;
  }
}

function placeOf([from, to]: Range, start: number, end: number, log: boolean): (value: number) => number {
  if (!log) return (value) => start + ((value - from) / (to - from)) * (end - start);
  const span = Math.log(to / from);
  return (value) => (value > 0 ? start + (Math.log(value / from) / span) * (end - start) : NaN);
}

/** Round values within a range, about so many. */
export function ticksOf([from, to]: Range, log: boolean, about: number): number[] {
  if (log) {
    const ticks: number[] = [];
    for (let power = Math.ceil(Math.log10(from)); 10 ** power <= to; power++) ticks.push(10 ** power);
    if (ticks.length >= 2) return ticks;
  }
  const rough = (to - from) / about;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * size).find((s) => s >= rough) ?? size * 10;
  const ticks: number[] = [];
  for (let k = Math.ceil(from / step); k * step <= to; k++) ticks.push(k * step);
  return ticks;
}

export function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "");
}
