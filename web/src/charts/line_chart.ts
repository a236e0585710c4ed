// A chart of curves. uPlot provides axes, scales and the cursor. The curves are drawn here, from the first, min, max and
// last value of each pixel column, so that no spike is lost at any zoom.

import uPlot from "uplot";
import { panRange, valueAt, xRange, yRange, zoomRange, type Range } from "./axes/range";
import { makeScale } from "./axes/scale";
import { textWidth } from "./axes/text_width";
import { DURATION_INCREMENTS, durationLabel, niceTicks, STEP_INCREMENTS, tickLabels, type Ticks } from "./axes/ticks";
import { sameOptions, type ChartOptions } from "./chart_options";
import { drawBackground } from "./drawing/background";
import { drawLines } from "./drawing/curves";
import { frameQueue } from "./drawing/frame_queue";
import type { PlotArea } from "./drawing/plot_area";

export interface Pointer {
  x: number;
  y: number;
  /** The distance in x that still counts as being at a point. */
  tolerance: number;
  clientX: number;
  clientY: number;
}

export interface ChartEvents {
  onzoom: (range: Range | null) => void;
  onhover: (pointer: Pointer | null) => void;
  /** Called when y becomes zoomed, and when it no longer is. */
  onzoomy: (zoomed: boolean) => void;
}

const RIGHT_PADDING = 10;
const MIN_GUTTER = 50;
const LABEL_GAP = 4;
/** uPlot sees logarithmic axes and y as positions from 0 to 1: its own ticks do not end on some ranges. */
const POSITIONS: Range = [0, 1];
export const CHART_FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

export class LineChart {
  private plot: uPlot | null = null;
  /** The options that only a new uPlot instance can apply, as text. */
  private plotKey = "";
  private xRange: Range = [0, 1];
  private yRange: Range = [0, 1];
  private yZoom: Range | null = null;
  /** Whether y is drawn logarithmically: `options.logY`, unless no value is positive. */
  private logY = false;
  private width = 0;
  private height = 0;
  private observer: ResizeObserver;
  private onwheel = (event: WheelEvent) => this.handleWheel(event);

  constructor(
    private host: HTMLElement,
    private options: ChartOptions,
    private events: ChartEvents,
    private urgency: () => number = () => 0,
  ) {
    this.observer = new ResizeObserver(() => {
      const { clientWidth, clientHeight } = host;
      if (clientWidth === this.width && clientHeight === this.height) return;
      this.width = clientWidth;
      this.height = clientHeight;
      this.scheduleDraw();
    });
    this.observer.observe(host);
    host.addEventListener("wheel", this.onwheel, { passive: false });
    this.width = host.clientWidth;
    this.height = host.clientHeight;
    this.scheduleDraw();
  }

  update(options: ChartOptions): void {
    // Comparing is cheap and drawing is expensive, so skip updates that would change nothing.
    if (sameOptions(options, this.options)) return;
    if (options.x !== this.options.x || options.logY !== this.options.logY) this.setYZoom(null);
    this.options = options;
    this.scheduleDraw();
  }

  destroy(): void {
    this.setYZoom(null);
    frameQueue.remove(this);
    this.observer.disconnect();
    this.host.removeEventListener("wheel", this.onwheel);
    this.plot?.destroy();
    this.plot = null;
  }

  /** The canvas as it is drawn now. */
  get canvas(): HTMLCanvasElement | null {
    return this.plot?.ctx.canvas ?? null;
  }

  get ranges(): { x: Range; y: Range } {
    return { x: this.xRange, y: this.yRange };
  }

  zoomBy(factor: number, frac = 0.5): void {
    this.showRange(zoomRange(this.xRange, valueAt(this.xRange, frac, this.logX), factor, this.logX));
  }

  panBy(frac: number): void {
    this.showRange(panRange(this.xRange, frac, this.logX));
  }

  reset(): void {
    this.setYZoom(null);
    this.events.onzoom(null);
    this.scheduleDraw();
  }

  /** Zooms to a range of x. The range applies at once, because keys and wheels are faster than drawing. */
  private showRange(range: Range): void {
    this.xRange = range;
    this.events.onzoom(range);
  }

  private setYZoom(range: Range | null): void {
    const changed = (range === null) !== (this.yZoom === null);
    this.yZoom = range;
    if (changed) this.events.onzoomy(range !== null);
  }

  private get logX(): boolean {
    return this.options.logX && this.options.x !== "wall";
  }

  private scheduleDraw(): void {
    frameQueue.add(this, () => this.draw(), this.urgency());
  }

  private draw(): void {
    if (this.width < 20 || this.height < 20) return;
    this.updateRanges();
    const { options } = this;
    const key = [options.x, this.logX, this.logY, options.compact, options.colors.text, options.wheelZooms].join();
    const data: uPlot.AlignedData = [this.xRange, [null, null]];
    if (!this.plot || key !== this.plotKey) {
      this.plot?.destroy();
      this.host.replaceChildren();
      this.plotKey = key;
      this.plot = new uPlot(this.plotOptions(), data, this.host);
      return;
    }
    if (this.plot.width !== this.width || this.plot.height !== this.height) {
      this.plot.setSize({ width: this.width, height: this.height });
    }
    this.plot.setData(data);
  }

  private updateRanges(): void {
    const { options } = this;
    const { zoom } = options;
    const curves = options.lines.map((line) => line.curve);
    const all = xRange(curves, this.logX) ?? [0, 1];
    this.xRange = zoom ? (this.logX ? [Math.max(zoom[0], all[0] / 10), zoom[1]] : zoom) : all;
    const { ignoreOutliers, orphans, smoothed } = options;
    const visibleRange = (log: boolean) => yRange(curves, this.xRange, { log, ignoreOutliers, orphans, smoothed });
    this.logY = options.logY;
    let range = visibleRange(options.logY);
    if (range === null && options.logY) {
      // No value is positive: a logarithmic axis would be empty, so use a linear one.
      this.logY = false;
      range = visibleRange(false);
    }
    this.yRange = this.yZoom ?? this.includeLimits(range ?? [0, 1]);
  }

  /** Extends the range of y to limits close to the curves. A limit far away would flatten the curves. */
  private includeLimits([from, to]: Range): Range {
    const height = to - from;
    for (const limit of this.options.limits) {
      if (limit > to && limit < to + height) to = limit + height * 0.05;
      if (limit < from && limit > from - height && !(this.logY && limit <= 0)) from = limit - height * 0.05;
    }
    return [from, to];
  }

  private plotOptions(): uPlot.Options {
    const { x, colors, compact } = this.options;
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
        xTicks = niceTicks(this.xRange, true, Math.max(2, Math.floor(this.width / xSpace)));
        return xTicks.values.map(makeScale(this.xRange, 0, 1, true));
      },
      values: () => (x === "relative" ? xTicks.values.map(durationLabel) : xTicks.labels),
    };
    const y = {
      incrs: [1],
      splits: () => {
        yTicks = niceTicks(this.yRange, this.logY, Math.max(2, Math.floor(this.height / ySpace)));
        return yTicks.values.map(makeScale(this.yRange, 0, 1, this.logY));
      },
      values: () => yTicks.labels,
      size: (_: uPlot, labels: string[] | null) =>
        Math.max(MIN_GUTTER, ...(labels ?? []).map((label) => textWidth(label, CHART_FONT) + 2 * LABEL_GAP)),
    };
    return {
      width: this.width,
      height: this.height,
      ms: 1e-3,
      legend: { show: false },
      padding: [6, (plot) => this.paddingFor(plot), 0, 0],
      scales: {
        x: { time: x === "wall", range: () => (this.logX ? POSITIONS : this.xRange) },
        y: { range: () => POSITIONS },
      },
      axes: [
        // The labels of wall time have two lines.
        {
          ...axis,
          size: x === "wall" ? 38 : 24,
          space: xSpace,
          ...(this.logX ? logX : (linearX[x] ?? { values: numberLabels })),
        },
        { ...axis, ...y, space: ySpace },
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: true, uni: 24, dist: 6, setScale: false },
        bind: {
          dblclick: () => () => {
            this.reset();
            return null;
          },
          mousedown: (_, __, handler) => (event) => {
            if (event.shiftKey) this.startPan(event);
            else handler(event);
            return null;
          },
        },
      },
      hooks: {
        draw: [() => this.drawContent()],
        setSelect: [(plot) => this.handleSelection(plot)],
        setCursor: [(plot) => this.handleCursor(plot)],
      },
    };
  }

  private handleSelection(plot: uPlot): void {
    const { left, top, width, height } = plot.select;
    if (width < 3 && height < 3) return;
    const zoomsY = height < plot.over.clientHeight - 1;
    if (zoomsY) this.setYZoom([this.yAt(plot, top + height), this.yAt(plot, top)]);
    const range: Range = [this.xAt(plot, left), this.xAt(plot, left + width)];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (width < plot.over.clientWidth - 1) this.events.onzoom(range);
    else this.scheduleDraw();
  }

  private xAt(plot: uPlot, left: number): number {
    return valueAt(this.xRange, left / plot.over.clientWidth, this.logX);
  }

  private yAt(plot: uPlot, top: number): number {
    return valueAt(this.yRange, 1 - top / plot.over.clientHeight, this.logY);
  }

  /** The space that the last label of x needs to the right of the plot. */
  private paddingFor(plot: uPlot): number {
    // uPlot has no public way to the labels it is about to draw.
    const axis = plot.axes[0] as { _splits?: number[]; _values?: (string | null)[] } | undefined;
    const label = axis?._values?.at(-1);
    const tick = axis?._splits?.at(-1);
    const width = plot.width - MIN_GUTTER - RIGHT_PADDING;
    if (!label || tick === undefined || width <= 0) return RIGHT_PADDING;
    const [from, to] = this.logX ? POSITIONS : this.xRange;
    const distance = ((to - tick) / (to - from)) * width;
    const widest = Math.max(...label.split("\n").map((line) => textWidth(line, CHART_FONT)));
    return Math.max(RIGHT_PADDING, Math.ceil(widest / 2 - distance) + 2);
  }

  private handleCursor(plot: uPlot): void {
    const { left, top } = plot.cursor;
    if (left === undefined || left < 0 || top === undefined || top < 0) {
      this.events.onhover(null);
      return;
    }
    const box = plot.over.getBoundingClientRect();
    const x = this.xAt(plot, left);
    this.events.onhover({
      x,
      y: this.yAt(plot, top),
      tolerance: Math.abs(this.xAt(plot, left + 6) - x),
      clientX: box.left + left,
      clientY: box.top + top,
    });
  }

  private handleWheel(event: WheelEvent): void {
    if (!this.plot || !(this.options.wheelZooms || event.ctrlKey || event.altKey || event.metaKey)) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.panBy(Math.sign(event.deltaX || event.deltaY) * 0.1);
      return;
    }
    const box = this.plot.over.getBoundingClientRect();
    this.zoomBy(event.deltaY > 0 ? 1.25 : 0.8, (event.clientX - box.left) / box.width);
  }

  private startPan(event: MouseEvent): void {
    const start = event.clientX;
    const range = this.xRange;
    const width = this.plot!.over.clientWidth;
    const move = (moved: MouseEvent) => this.events.onzoom(panRange(range, (start - moved.clientX) / width, this.logX));
    const stop = () => {
      removeEventListener("mousemove", move);
      removeEventListener("mouseup", stop);
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", stop);
  }

  private drawContent(): void {
    if (!this.plot) return;
    const { ctx: context, bbox: box } = this.plot;
    const { left, top, width, height } = box;
    const area: PlotArea = {
      context,
      scales: {
        x: makeScale(this.xRange, left, left + width, this.logX),
        y: makeScale(this.yRange, top + height, top, this.logY),
      },
      xRange: this.xRange,
      box,
      ratio: uPlot.pxRatio,
    };
    const { options } = this;
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    // Findings are located by step, so they are not shaded on other axes.
    const shaded = options.x === "step" ? options.shaded : [];
    drawBackground(area, { ...options, shaded }, options.colors);
    drawLines(area, options.lines, options);
    context.restore();
  }
}
