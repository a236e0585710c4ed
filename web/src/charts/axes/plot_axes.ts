// The axes of a chart as options of uPlot: where ticks are, what their labels say, and how much space they take.

import type uPlot from "uplot";
import type { XAxis } from "../../api/types";
import type { ThemeColors } from "../../ui/theme.svelte";
import type { Range } from "./range";
import { makeScale } from "./scale";
import { textWidth } from "./text_width";
import { DURATION_INCREMENTS, durationLabel, niceTicks, STEP_INCREMENTS, tickLabels, type Ticks } from "./ticks";

export const CHART_FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
/** uPlot sees logarithmic axes and y as positions from 0 to 1: its own ticks do not end on some ranges. */
export const POSITIONS: Range = [0, 1];
const RIGHT_PADDING = 10;
const MIN_GUTTER = 50;
const LABEL_GAP = 4;

/** What the axes need to know about the chart at the time they are drawn. */
export interface AxisState {
  xRange: Range;
  yRange: Range;
  logX: boolean;
  logY: boolean;
  /** Whether any value is finite. If not, the range of y says nothing. */
  hasValues: boolean;
  width: number;
  height: number;
}

export interface AxisStyle {
  x: XAxis;
  colors: Pick<ThemeColors, "text" | "grid">;
  /** Fewer ticks. */
  compact: boolean;
}

/** The options of both axes. `state` returns the chart's current state. */
export function plotAxes({ x, colors, compact }: AxisStyle, state: () => AxisState): uPlot.Axis[] {
  const axis = {
    stroke: colors.text,
    font: CHART_FONT,
    grid: { stroke: colors.grid, width: 1 },
    ticks: { show: false },
    gap: LABEL_GAP,
  };
  const durationLabels = (_: uPlot, ticks: (number | null)[]) =>
    ticks.map((tick) => (tick === null ? "" : durationLabel(tick)));
  const numberLabels = (_: uPlot, ticks: (number | null)[]) => tickLabels(ticks);
  // Whole numbers for steps only: a metric may be a fraction.
  const linearX: Record<string, uPlot.Axis> = {
    step: { incrs: STEP_INCREMENTS, values: numberLabels },
    relative: { incrs: DURATION_INCREMENTS, values: durationLabels },
    wall: {},
  };
  const xSpace = compact ? 60 : 56;
  const ySpace = compact ? 26 : 32;
  let xTicks: Ticks = { values: [], labels: [] };
  let yTicks = xTicks;
  const logX = {
    incrs: [1],
    splits: () => {
      const { xRange, width } = state();
      xTicks = niceTicks(xRange, true, Math.max(2, Math.floor(width / xSpace)));
      return xTicks.values.map(makeScale(xRange, 0, 1, true));
    },
    values: () => (x === "relative" ? xTicks.values.map(durationLabel) : xTicks.labels),
  };
  const y = {
    incrs: [1],
    splits: () => {
      const { yRange, logY, height } = state();
      yTicks = niceTicks(yRange, logY, Math.max(2, Math.floor(height / ySpace)));
      return yTicks.values.map(makeScale(yRange, 0, 1, logY));
    },
    values: () => (state().hasValues ? yTicks.labels : yTicks.labels.map(() => "")),
    size: (_: uPlot, labels: string[] | null) =>
      Math.max(MIN_GUTTER, ...(labels ?? []).map((label) => textWidth(label, CHART_FONT) + 2 * LABEL_GAP)),
  };
  return [
    {
      ...axis,
      // The labels of wall time have two lines.
      size: x === "wall" ? 38 : 24,
      space: xSpace,
      ...(state().logX ? logX : (linearX[x] ?? { values: numberLabels })),
    },
    { ...axis, ...y, space: ySpace },
  ];
}

/** The space that the last label of x needs to the right of the plot. */
export function rightPadding(plot: uPlot, { logX, xRange }: AxisState): number {
  // uPlot has no public way to the labels it is about to draw.
  const [axis, gutter] = plot.axes as { _splits?: number[]; _values?: (string | null)[]; _size?: number }[];
  const label = axis?._values?.at(-1);
  const tick = axis?._splits?.at(-1);
  const space = plot.width - (gutter?._size ?? MIN_GUTTER);
  if (!label || tick === undefined || space <= RIGHT_PADDING) return RIGHT_PADDING;
  const [from, to] = logX ? POSITIONS : xRange;
  const frac = (to - tick) / (to - from);
  const widest = Math.max(...label.split("\n").map((line) => textWidth(line, CHART_FONT)));
  // The half of the label that is right of its tick fits into what the plot has there, frac * (space - padding), and
  // the padding.
  return Math.max(RIGHT_PADDING, Math.ceil((widest / 2 - frac * space) / (1 - frac)) + 2);
}
