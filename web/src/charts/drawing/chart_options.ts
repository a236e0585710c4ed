// What a chart draws and how.

import type { XAxis } from "../../api/types";
import type { ThemeColors } from "../../ui/theme.svelte";
import type { Range } from "../axes/range";
import type { Background } from "./background";
import type { Line, LineStyle } from "./curves";

export interface ChartOptions extends Background, LineStyle {
  lines: Line[];
  x: XAxis;
  logX: boolean;
  logY: boolean;
  ignoreOutliers: boolean;
  /** The range of x to show; null for all of it. */
  zoom: Range | null;
  /** The range of y to show; null for one that fits the curves. */
  zoomY: Range | null;
  /** A small chart, with fewer ticks. */
  compact: boolean;
  /** Whether the mouse wheel zooms without a modifier key. */
  wheelZooms: boolean;
  colors: ThemeColors;
}

/** What a chart shows at the moment. */
export interface ChartState {
  options: ChartOptions;
  x: Range;
  y: Range;
  logX: boolean;
  logY: boolean;
}

/** Whether two charts would look the same. */
export function sameOptions(a: ChartOptions, b: ChartOptions): boolean {
  return (Object.keys(a) as (keyof ChartOptions)[]).every((key) => {
    const [left, right] = [a[key], b[key]];
    if (left === right) return true;
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
    return key === "lines"
      ? (left as Line[]).every((line, i) => sameLine(line, (right as Line[])[i]!))
      : JSON.stringify(left) === JSON.stringify(right);
  });
}

function sameLine(a: Line, b: Line): boolean {
  return a.key === b.key && a.curve === b.curve && a.color === b.color && a.label === b.label;
}
