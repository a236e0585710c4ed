// A chart of curves. uPlot provides axes, scales and the cursor. The curves are drawn here, from the first, min, max and
// last value of each pixel column, so that no spike is lost at any zoom.

import uPlot from "uplot";
import { plotAxes, POSITIONS, rightPadding } from "./axes/plot_axes";
import {
  countOutside,
  fullXRange,
  limitRange,
  panRange,
  valueAt,
  xRange,
  yRange,
  zoomRange,
  type Range,
} from "./axes/range";
import { makeScale } from "./axes/scale";
import { sameOptions, type ChartOptions, type ChartState } from "./drawing/chart_options";
import { drawBackground } from "./drawing/background";
import { drawLines } from "./drawing/curves";
import { frameQueue } from "./drawing/frame_queue";
import { clipToArea, type PlotArea } from "./drawing/plot_area";
import { handleTouch } from "./touch";

export interface Pointer {
  x: number;
  y: number;
  /** The distance in x that still counts as being at a point. */
  tolerance: number;
  /** The distance in y that still counts as being at a curve. */
  reach: number;
  clientX: number;
  clientY: number;
  /** The plot's edges on the screen if the pointer is a finger, which covers what it points at. */
  avoid: { top: number; bottom: number } | null;
}

export interface ChartEvents {
  onzoom: (range: Range | null) => void;
  onzoomy: (range: Range | null) => void;
  onhover: (pointer: Pointer | null) => void;
  /** Called after the curves were drawn: how many values are outside the range of y because they are outliers. */
  onoutliers: (count: number) => void;
  /** Called for a click that does not end a drag; `extend` if a modifier key was pressed. */
  onpick: (x: number, extend: boolean) => void;
}

/** How far from a curve the pointer still is at it, in pixels. */
const REACH_PIXELS = 24;

export class LineChart {
  private plot: uPlot | null = null;
  /** The options that only a new uPlot instance can apply, as text. */
  private plotKey = "";
  private xRange: Range = [0, 1];
  private yRange: Range = [0, 1];
  private hasValues = true;
  /** Whether y is drawn logarithmically: `options.logY`, unless no value is positive. */
  private logY = false;
  private width = 0;
  private height = 0;
  private observer: ResizeObserver;
  private crosshair: HTMLElement | null = null;
  private crosshairX: number | null = null;
  private stopTouch: () => void;
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
    this.stopTouch = this.listenToFingers();
    this.width = host.clientWidth;
    this.height = host.clientHeight;
    this.scheduleDraw();
  }

  update(options: ChartOptions): void {
    // Comparing is cheap and drawing is expensive, so skip updates that would change nothing.
    if (sameOptions(options, this.options)) return;
    this.options = options;
    this.scheduleDraw();
  }

  destroy(): void {
    frameQueue.remove(this);
    this.stopTouch();
    this.observer.disconnect();
    this.host.removeEventListener("wheel", this.onwheel);
    this.plot?.destroy();
    this.plot = null;
  }

  /** What the chart shows now; null before it was drawn. */
  get state(): ChartState | null {
    const { options, xRange: x, yRange: y, logX, logY } = this;
    return this.plot && { options, x, y, logX, logY };
  }

  zoomBy(factor: number, frac = 0.5): void {
    this.showRange(zoomRange(this.xRange, valueAt(this.xRange, frac, this.logX), factor, this.logX));
  }

  panBy(frac: number): void {
    this.showRange(panRange(this.xRange, frac, this.logX));
  }

  reset(): void {
    this.events.onzoomy(null);
    this.events.onzoom(null);
    this.scheduleDraw();
  }

  /** Marks the x that another chart is pointed at; null for none. */
  showCrosshair(x: number | null): void {
    this.crosshairX = x;
    const [from, to] = this.xRange;
    const visible = this.plot !== null && x !== null && x >= from && x <= to;
    if (!visible) {
      if (this.crosshair) this.crosshair.hidden = true;
      return;
    }
    const over = this.plot!.over;
    if (this.crosshair?.parentElement !== over) {
      this.crosshair = document.createElement("div");
      this.crosshair.className = "crosshair";
      over.append(this.crosshair);
    }
    this.crosshair.hidden = false;
    const left = makeScale(this.xRange, 0, over.clientWidth, this.logX)(x);
    this.crosshair.style.transform = `translateX(${Math.round(left)}px)`;
  }

  /** Zooms to a range of x. The range applies at once, because keys and wheels are faster than drawing. */
  private showRange(range: Range): void {
    const full = fullXRange(this.curves, this.logX);
    const limited = limitRange(range, full);
    this.xRange = limited ?? full ?? this.xRange;
    this.events.onzoom(limited);
  }

  private get curves() {
    return this.options.lines.map((line) => line.curve);
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
    const { options, curves } = this;
    const { zoom } = options;
    const all = fullXRange(curves, this.logX) ?? xRange(curves, this.logX, options.x) ?? [0, 1];
    this.xRange = zoom ? (this.logX ? [Math.max(zoom[0], all[0] / 10), zoom[1]] : zoom) : all;
    const { ignoreOutliers, orphans } = options;
    const visibleRange = (log: boolean) => yRange(curves, this.xRange, { log, ignoreOutliers, orphans });
    this.logY = options.logY;
    let range = visibleRange(options.logY);
    if (range === null && options.logY) {
      // No value is positive: a logarithmic axis would be empty, so use a linear one.
      this.logY = false;
      range = visibleRange(false);
    }
    this.hasValues = range !== null;
    const zoomY = options.zoomY && !(this.logY && options.zoomY[0] <= 0) ? options.zoomY : null;
    this.yRange = zoomY ?? this.includeLimits(range ?? [0, 1]);
    const outliers = ignoreOutliers && !zoomY;
    const counted = { log: this.logY, ignoreOutliers, orphans };
    this.events.onoutliers(outliers ? countOutside(curves, this.xRange, this.yRange, counted) : 0);
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

  private axisState() {
    const { xRange, yRange, logX, logY, hasValues, width, height } = this;
    return { xRange, yRange, logX, logY, hasValues, width, height };
  }

  private plotOptions(): uPlot.Options {
    return {
      width: this.width,
      height: this.height,
      ms: 1e-3,
      legend: { show: false },
      padding: [6, (plot) => rightPadding(plot, this.axisState()), 0, 0],
      scales: {
        x: { time: this.options.x === "wall", range: () => (this.logX ? POSITIONS : this.xRange) },
        y: { range: () => POSITIONS },
      },
      axes: plotAxes(this.options, () => this.axisState()),
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
          mousedown: (plot, _, handler) => (event) => {
            if (event.shiftKey) {
              this.startPan(event);
              return null;
            }
            const { clientX, clientY } = event;
            const box = plot.over.getBoundingClientRect();
            addEventListener(
              "mouseup",
              (up) => {
                const still = Math.hypot(up.clientX - clientX, up.clientY - clientY) < 3;
                if (!still || up.button !== 0) return;
                this.events.onpick(this.xAt(plot, clientX - box.left), up.altKey || up.ctrlKey || up.metaKey);
              },
              { once: true },
            );
            handler(event);
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
    if (zoomsY) this.events.onzoomy([this.yAt(plot, top + height), this.yAt(plot, top)]);
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

  private handleCursor(plot: uPlot): void {
    const { left, top } = plot.cursor;
    if (left === undefined || left < 0 || top === undefined || top < 0) {
      this.events.onhover(null);
      return;
    }
    const box = plot.over.getBoundingClientRect();
    this.events.onhover(this.pointerAt(plot, box, box.left + left, box.top + top, false));
  }

  private pointerAt(plot: uPlot, box: DOMRect, clientX: number, clientY: number, finger: boolean): Pointer {
    const [left, top] = [clientX - box.left, Math.max(0, Math.min(box.height, clientY - box.top))];
    const [x, y] = [this.xAt(plot, left), this.yAt(plot, top)];
    return {
      x,
      y,
      tolerance: Math.abs(this.xAt(plot, left + 6) - x),
      reach: Math.max(...[-1, 1].map((side) => Math.abs(this.yAt(plot, top + side * REACH_PIXELS) - y))),
      clientX,
      clientY,
      avoid: finger ? { top: box.top, bottom: box.bottom } : null,
    };
  }

  private listenToFingers(): () => void {
    let range = this.xRange;
    return handleTouch(this.host, {
      read: (place) => {
        if (!this.plot) return;
        const box = this.plot.over.getBoundingClientRect();
        this.events.onhover(place && this.pointerAt(this.plot, box, place.clientX, place.clientY, true));
      },
      startPinch: () => {
        range = this.xRange;
      },
      pinch: (start, now) => {
        // The values under both fingers stay under them.
        const scale = (start[1] - start[0]) / Math.max(now[1] - now[0], 0.02);
        const from = start[0] - now[0] * scale;
        this.showRange([valueAt(range, from, this.logX), valueAt(range, from + scale, this.logX)]);
      },
      reset: () => this.reset(),
      box: () => (this.plot?.over ?? this.host).getBoundingClientRect(),
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
    const move = (moved: MouseEvent) => this.showRange(panRange(range, (start - moved.clientX) / width, this.logX));
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
    clipToArea(area, options.zoom !== null);
    drawBackground(area, options, options.colors);
    drawLines(area, options.lines, options);
    context.restore();
    this.showCrosshair(this.crosshairX);
  }
}
