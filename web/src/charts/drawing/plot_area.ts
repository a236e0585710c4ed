// The part of a canvas where curves are drawn.

import type { Range } from "../axes/range";
import type { Scales } from "../axes/scale";

export interface PlotArea {
  context: CanvasRenderingContext2D;
  scales: Scales;
  /** The visible range of x. */
  xRange: Range;
  /** The area in device pixels. */
  box: { left: number; top: number; width: number; height: number };
  /** Device pixels per CSS pixel. */
  ratio: number;
}
