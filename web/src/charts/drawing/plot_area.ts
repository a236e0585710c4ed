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
