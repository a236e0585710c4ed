// A chart of curves: uPlot gives axes, scales and the cursor; the curves are drawn here, from columns of first, least,
// greatest and last, so that no spike is lost at any zoom.

import uPlot from "uplot";
import type { XKind } from "../lib/api";
import { withAlpha } from "../lib/colour";
import type { Curve } from "../lib/columns";
import { frames } from "../lib/frame_queue";
import { badPoints, strokeRaw, strokeValues, type Dot, type Scales } from "../lib/path";
import { panned, valueAt, xRange, yRange, zoomed, type Range } from "../lib/range";
import { formatSpan, STEP_INCREMENTS, TIME_INCREMENTS, axisMarks } from "../lib/ticks";

export interface Line {
  key: string;
  label: string;
  colour: string;
  curve: Curve;
  dash?: number[];
}

export interface Ground {
  text: string;
  grid: string;
  info: string;
  warning: string;
  critical: string;
  ok: string;
}

export interface ChartOptions {
  lines: Line[];
  x: XKind;
  logX: boolean;
  logY: boolean;
  ignoreOutliers: boolean;
  smoothed: boolean;
  orphans: boolean;
  zoom: Range | null;
  stretches: { from: number; to: number; severity: "info" | "warning" | "critical" }[];
  bands: { kind: "healthy" | "warning" | "critical"; from: number | null; to: number | null }[];
  limits: number[];
  restarts: number[];
  /** The key of the line to lift above the others. */
  highlight: string | null;
  compact: boolean;
  wheel: boolean;
  ground: Ground;
}

export interface Pointer {
  x: number;
  y: number;
  /** How much of x four pixels are. */
  tolerance: number;
  clientX: number;
  clientY: number;
}

export interface ChartEvents {
  onzoom: (range: Range | null) => void;
  onhover: (pointer: Pointer | null) => void;
  /** Whether y is zoomed, told when that changes. */
  onbox: (boxed: boolean) => void;
}

export const CHART_FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

export class LineChart {
  private plot: uPlot | null = null;
  private shape = "";
  private xr: Range = [0, 1];
  private yr: Range = [0, 1];
  private yZoom: Range | null = null;
  private width = 0;
  private height = 0;
  private observer: ResizeObserver;
  private wheel: (event: WheelEvent) => void;

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
      this.later();
    });
    this.observer.observe(host);
    this.wheel = (event) => this.onWheel(event);
    host.addEventListener("wheel", this.wheel, { passive: false });
    this.width = host.clientWidth;
    this.height = host.clientHeight;
    this.later();
  }

  update(options: ChartOptions): void {
    // Drawing is dear and asking is cheap: nothing is drawn anew that would look the same.
    if (sameOptions(options, this.options)) return;
    if (options.x !== this.options.x || options.logY !== this.options.logY) this.box(null);
    this.options = options;
    this.later();
  }

  destroy(): void {
    this.box(null);
    frames.remove(this);
    this.observer.disconnect();
    this.host.removeEventListener("wheel", this.wheel);
    this.plot?.destroy();
    this.plot = null;
  }

  /** The picture as it stands. */
  get canvas(): HTMLCanvasElement | null {
    return this.plot?.ctx.canvas ?? null;
  }

  get ranges(): { x: Range; y: Range } {
    return { x: this.xr, y: this.yr };
  }

  get view(): Range {
    return this.xr;
  }

  zoomBy(factor: number, share = 0.5): void {
    this.show(zoomed(this.xr, valueAt(this.xr, share, this.logX), factor, this.logX));
  }

  panBy(share: number): void {
    this.show(panned(this.xr, share, this.logX));
  }

  /** Ask for a range of x. It counts at once: keys and wheels come faster than pictures. */
  private show(range: Range): void {
    this.xr = range;
    this.events.onzoom(range);
  }

  reset(): void {
    this.box(null);
    this.events.onzoom(null);
    this.later();
  }

  private box(range: Range | null): void {
    const changed = (range === null) !== (this.yZoom === null);
    this.yZoom = range;
    if (changed) this.events.onbox(range !== null);
  }

  private get logX(): boolean {
    return this.options.logX && this.options.x !== "wall";
  }

  private later(): void {
    frames.add(this, () => this.draw(), this.urgency());
  }

  private draw(): void {
    if (this.width < 20 || this.height < 20) return;
    this.measure();
    const { options } = this;
    const shape = [options.x, this.logX, this.logYNow, options.compact, options.ground.text, options.wheel].join();
    const data: uPlot.AlignedData = [this.xr, [null, null]];
    if (!this.plot || shape !== this.shape) {
      this.plot?.destroy();
      this.host.replaceChildren();
      this.shape = shape;
      this.plot = new uPlot(this.plotOptions(), data, this.host);
      return;
    }
    if (this.plot.width !== this.width || this.plot.height !== this.height) {
      this.plot.setSize({ width: this.width, height: this.height });
    }
    this.plot.setData(data);
  }

  private logYNow = false;

  private measure(): void {
    const { options } = this;
    const curves = options.lines.map((line) => line.curve);
    const whole = xRange(curves, this.logX) ?? [0, 1];
    this.xr = options.zoom ? (this.logX ? [Math.max(options.zoom[0], whole[0] / 10), options.zoom[1]] : options.zoom) : whole;
    const read = (log: boolean) =>
      yRange(curves, this.xr, {
        log,
        ignoreOutliers: options.ignoreOutliers,
        orphans: options.orphans,
        smoothed: options.smoothed,
      });
    this.logYNow = options.logY;
    let range = read(options.logY);
    if (range === null && options.logY) {
      // Nothing above zero: a logarithmic axis would be empty, so the linear one steps in.
      this.logYNow = false;
      range = read(false);
    }
    this.yr = this.yZoom ?? this.withLimits(range ?? [0, 1]);
  }

  /** A limit close to the curve is drawn into the range; one far away must not flatten the curve. */
  private withLimits([from, to]: Range): Range {
    const reach = to - from;
    for (const limit of this.options.limits) {
      if (limit > to && limit < to + reach) to = limit + reach * 0.05;
      if (limit < from && limit > from - reach && !(this.logYNow && limit <= 0)) from = limit - reach * 0.05;
    }
    return [from, to];
  }

  private plotOptions(): uPlot.Options {
    const { options } = this;
    const { ground, compact } = options;
    const axis = { stroke: ground.text, font: CHART_FONT, grid: { stroke: ground.grid, width: 1 }, ticks: { show: false } };
    const wall = options.x === "wall";
    return {
      width: this.width,
      height: this.height,
      ms: 1e-3,
      legend: { show: false },
      padding: [6, 10, 0, 0],
      scales: {
        x: { time: wall, distr: this.logX ? 3 : 1, range: () => this.xr },
        y: { distr: this.logYNow ? 3 : 1, range: () => this.yr },
      },
      axes: [
        {
          ...axis,
          size: 24,
          gap: 4,
          space: compact ? 60 : 56,
          ...(wall
            ? {}
            : {
                incrs: options.x === "step" ? STEP_INCREMENTS : TIME_INCREMENTS,
                values: (_: uPlot, marks: (number | null)[]) =>
                  options.x === "step" ? axisMarks(marks) : marks.map((mark) => (mark === null ? "" : formatSpan(mark))),
              }),
        },
        {
          ...axis,
          size: 50,
          gap: 4,
          space: compact ? 26 : 32,
          values: (_: uPlot, marks: (number | null)[]) => axisMarks(marks),
        },
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
            if (event.shiftKey) this.pan(event);
            else handler(event);
            return null;
          },
        },
      },
      hooks: {
        draw: [() => this.drawCurves()],
        setSelect: [(plot) => this.onSelect(plot)],
        setCursor: [(plot) => this.onCursor(plot)],
      },
    };
  }

  private onSelect(plot: uPlot): void {
    const { left, top, width, height } = plot.select;
    if (width < 3 && height < 3) return;
    const boxed = height < plot.over.clientHeight - 1;
    if (boxed) this.box([plot.posToVal(top + height, "y"), plot.posToVal(top, "y")]);
    const range: Range = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (width < plot.over.clientWidth - 1) this.events.onzoom(range);
    else this.later();
  }

  private onCursor(plot: uPlot): void {
    const { left, top } = plot.cursor;
    if (left === undefined || left < 0 || top === undefined || top < 0) {
      this.events.onhover(null);
      return;
    }
    const box = plot.over.getBoundingClientRect();
    const x = plot.posToVal(left, "x");
    this.events.onhover({
      x,
      y: plot.posToVal(top, "y"),
      tolerance: Math.abs(plot.posToVal(left + 6, "x") - x),
      clientX: box.left + left,
      clientY: box.top + top,
    });
  }

  private onWheel(event: WheelEvent): void {
    if (!this.plot || !(this.options.wheel || event.ctrlKey || event.altKey || event.metaKey)) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.panBy(Math.sign(event.deltaX || event.deltaY) * 0.1);
      return;
    }
    const box = this.plot.over.getBoundingClientRect();
    this.zoomBy(event.deltaY > 0 ? 1.25 : 0.8, (event.clientX - box.left) / box.width);
  }

  private pan(event: MouseEvent): void {
    const start = event.clientX;
    const range = this.xr;
    const width = this.plot!.over.clientWidth;
    const move = (moved: MouseEvent) => this.events.onzoom(panned(range, (start - moved.clientX) / width, this.logX));
    const up = () => {
      removeEventListener("mousemove", move);
      removeEventListener("mouseup", up);
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", up);
  }

  private scales(): Scales {
    const { left, top, width, height } = this.plot!.bbox;
    return {
      x: place(this.xr, left, left + width, this.logX),
      y: place(this.yr, top + height, top, this.logYNow),
    };
  }

  private drawCurves(): void {
    const plot = this.plot;
    if (!plot) return;
    const { ctx, bbox } = plot;
    const ratio = uPlot.pxRatio;
    const scales = this.scales();
    const [from, to] = this.xr;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    this.drawGround(ctx, scales);
    ctx.lineJoin = "round";
    const { lines, highlight } = this.options;
    const order = highlight === null ? lines : [...lines].sort((a, b) => +(a.key === highlight) - +(b.key === highlight));
    for (const line of order) {
      const faded = highlight !== null && line.key !== highlight;
      this.drawLine(ctx, line, scales, from, to, ratio, faded);
    }
    ctx.restore();
  }

  private drawLine(ctx: CanvasRenderingContext2D, line: Line, scales: Scales, from: number, to: number, ratio: number, faded: boolean): void {
    const { curve, colour } = line;
    const strength = faded ? 0.22 : 1;
    const many = this.options.lines.length > 40;
    // One pixel and no more for many: without a graphics card that is drawn ten times as fast as anything wider.
    const wide = (this.options.highlight === line.key ? 2.2 : many ? 1 : 1.6) * ratio;
    ctx.setLineDash(line.dash?.map((part) => part * ratio) ?? []);
    if (curve.low && curve.high) {
      ctx.fillStyle = withAlpha(colour, 0.16 * strength);
      fillBand(ctx, curve, scales, from, to);
    }
    const dots: Dot[] = [];
    const smooth = this.options.smoothed ? curve.smooth : null;
    if (!smooth || !many || this.options.highlight === line.key) {
      ctx.strokeStyle = withAlpha(colour, (smooth ? 0.25 : 1) * strength);
      // A hair over one pixel: at one and below, browsers lay each stroke of a line over the others, and where a curve is
      // dense it would not be faint.
      ctx.lineWidth = smooth ? 1.01 * ratio : wide;
      ctx.beginPath();
      const alone = strokeRaw(ctx, curve, scales, from, to);
      ctx.stroke();
      if (!smooth || curve.x.length <= 1) dots.push(...alone);
    }
    if (smooth) {
      ctx.strokeStyle = withAlpha(colour, strength);
      ctx.lineWidth = wide;
      ctx.beginPath();
      dots.push(...strokeValues(ctx, curve.x, smooth, scales, from, to));
      ctx.stroke();
    }
    if (this.options.orphans && curve.orphans) {
      ctx.strokeStyle = withAlpha(colour, 0.6 * strength);
      ctx.setLineDash([3 * ratio, 3 * ratio]);
      ctx.lineWidth = ratio;
      ctx.beginPath();
      dots.push(...strokeRaw(ctx, curve.orphans, scales, from, to));
      ctx.stroke();
    }
    ctx.setLineDash([]);
    ctx.fillStyle = withAlpha(colour, strength);
    for (const [x, y] of dots) {
      ctx.beginPath();
      ctx.arc(x, y, 2.6 * ratio, 0, 2 * Math.PI);
      ctx.fill();
    }
    this.drawBad(ctx, curve, colour, scales, from, to, ratio);
  }

  /** NaN as crosses along the foot, infinities as arrowheads along the edge they left by. */
  private drawBad(ctx: CanvasRenderingContext2D, curve: Curve, colour: string, scales: Scales, from: number, to: number, ratio: number): void {
    const bad = badPoints(curve, from, to);
    if (bad.length === 0) return;
    const { top, height } = this.plot!.bbox;
    const size = 3.2 * ratio;
    ctx.strokeStyle = colour;
    ctx.fillStyle = colour;
    ctx.lineWidth = 1.5 * ratio;
    const before = { nan: -Infinity, inf: -Infinity, "-inf": -Infinity };
    for (const { x: value, kind } of bad) {
      const x = scales.x(value);
      // Marks of a kind that would lie on each other say no more than one.
      if (!Number.isFinite(x) || x - before[kind] < 9 * ratio) continue;
      before[kind] = x;
      ctx.beginPath();
      if (kind === "nan") {
        const y = top + height - 6 * ratio;
        ctx.moveTo(x - size, y - size);
        ctx.lineTo(x + size, y + size);
        ctx.moveTo(x + size, y - size);
        ctx.lineTo(x - size, y + size);
        ctx.stroke();
      } else {
        const up = kind === "inf";
        const y = up ? top + 2 * ratio : top + height - 2 * ratio;
        const way = up ? 1 : -1;
        ctx.moveTo(x, y);
        ctx.lineTo(x - size, y + way * size * 1.8);
        ctx.lineTo(x + size, y + way * size * 1.8);
        ctx.fill();
      }
    }
  }

  private drawGround(ctx: CanvasRenderingContext2D, scales: Scales): void {
    const { bands, stretches, limits, restarts, ground, x } = this.options;
    const { left, top, width, height } = this.plot!.bbox;
    const ratio = uPlot.pxRatio;
    const clampY = (value: number | null, open: number) => {
      if (value === null) return open;
      const y = scales.y(value);
      return Number.isFinite(y) ? Math.max(top, Math.min(top + height, y)) : open;
    };
    for (const band of bands) {
      const low = clampY(band.from, top + height);
      const high = clampY(band.to, top);
      if (low - high < 1) continue;
      ctx.fillStyle = withAlpha(band.kind === "healthy" ? ground.ok : ground[band.kind], 0.1);
      ctx.fillRect(left, high, width, low - high);
    }
    if (x === "step") {
      for (const stretch of stretches) {
        const a = Math.max(left, scales.x(stretch.from));
        const b = Math.min(left + width, Math.max(scales.x(stretch.to), a + 2 * ratio));
        if (!(b > a)) continue;
        ctx.fillStyle = withAlpha(ground[stretch.severity], 0.1);
        ctx.fillRect(a, top, b - a, height);
        ctx.fillStyle = withAlpha(ground[stretch.severity], 0.85);
        ctx.fillRect(a, top, b - a, 2 * ratio);
      }
    }
    ctx.lineWidth = ratio;
    if (restarts.length > 0) {
      ctx.strokeStyle = withAlpha(ground.text, 0.55);
      ctx.setLineDash([2 * ratio, 4 * ratio]);
      ctx.beginPath();
      for (const restart of restarts) {
        const at = Math.round(scales.x(restart)) + 0.5;
        ctx.moveTo(at, top);
        ctx.lineTo(at, top + height);
      }
      ctx.stroke();
    }
    if (limits.length > 0) {
      ctx.strokeStyle = ground.critical;
      ctx.setLineDash([5 * ratio, 3 * ratio]);
      ctx.beginPath();
      for (const limit of limits) {
        const y = scales.y(limit);
        ctx.moveTo(left, y);
        ctx.lineTo(left + width, y);
      }
      ctx.stroke();
    }
    ctx.setLineDash([]);
  }
}

function sameOptions(a: ChartOptions, b: ChartOptions): boolean {
  return (Object.keys(a) as (keyof ChartOptions)[]).every((key) => {
    const [one, other] = [a[key], b[key]];
    if (one === other) return true;
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return key === "lines"
      ? (one as Line[]).every((line, i) => sameLine(line, (other as Line[])[i]!))
      : JSON.stringify(one) === JSON.stringify(other);
  });
}

function sameLine(a: Line, b: Line): boolean {
  return a.key === b.key && a.curve === b.curve && a.colour === b.colour && a.label === b.label;
}

function place([from, to]: Range, start: number, end: number, log: boolean): (value: number) => number {
  if (log) {
    const a = Math.log(from);
    const scale = (end - start) / (Math.log(to) - a);
    return (value) => (value > 0 ? start + (Math.log(value) - a) * scale : NaN);
  }
  const scale = (end - start) / (to - from);
  return (value) => start + (value - from) * scale;
}

function fillBand(ctx: CanvasRenderingContext2D, curve: Curve, scales: Scales, from: number, to: number): void {
  const { x, low, high } = curve;
  let run: number[] = [];
  const flush = () => {
    if (run.length > 1) {
      ctx.beginPath();
      for (const i of run) ctx.lineTo(scales.x(x[i]!), scales.y(high![i]!));
      for (const i of run.reverse()) ctx.lineTo(scales.x(x[i]!), scales.y(low![i]!));
      ctx.closePath();
      ctx.fill();
    }
    run = [];
  };
  for (let i = 0; i < x.length; i++) {
    const inside = (x[i + 1] ?? x[i]!) >= from && (x[i - 1] ?? x[i]!) <= to;
    if (inside && Number.isFinite(scales.y(low![i]!)) && Number.isFinite(scales.y(high![i]!))) run.push(i);
    else flush();
  }
  flush();
}
