// The part of a canvas where curves are drawn.

import type { Range } from "../axes/range";
import type { Scales } from "../axes/scale";

/** The part of a canvas's interface that charts use. SVG files implement it too. */
export type DrawingContext = Pick<
  CanvasRenderingContext2D,
  | "beginPath"
  | "moveTo"
  | "lineTo"
  | "closePath"
  | "rect"
  | "clip"
  | "fill"
  | "stroke"
  | "fillRect"
  | "fillText"
  | "setLineDash"
  | "save"
  | "restore"
  | "lineWidth"
  | "lineJoin"
  | "font"
  | "textAlign"
> & {
  strokeStyle: string | CanvasGradient | CanvasPattern;
  fillStyle: string | CanvasGradient | CanvasPattern;
  arc(x: number, y: number, radius: number, from: number, to: number): void;
};

export interface PlotArea {
  context: DrawingContext;
  scales: Scales;
  /** The visible range of x. */
  xRange: Range;
  /** The area in device pixels. */
  box: { left: number; top: number; width: number; height: number };
  /** Device pixels per CSS pixel. */
  ratio: number;
}

/** How large a dot is, in CSS pixels. */
export const DOT_RADIUS = 2.6;

/** Limits drawing to the area. The first and the last point are at its edges, and their dots are whole unless zoomed. */
export function clipToArea({ context, box, ratio }: PlotArea, zoomed: boolean): void {
  const margin = zoomed ? 0 : (DOT_RADIUS + 1) * ratio;
  context.beginPath();
  context.rect(box.left - margin, box.top, box.width + 2 * margin, box.height);
  context.clip();
}
