// The ticks of an axis and their labels.

import { formatDuration, formatTime, formatValue } from "../../ui/text/format";
import type { Range } from "./range";

/** Distances between ticks of whole numbers. */
export const STEP_INCREMENTS: number[] = [];
for (let power = 0; power < 16; power++) for (const m of [1, 2, 5]) STEP_INCREMENTS.push(m * 10 ** power);

/** Distances between ticks of durations, in seconds. */
// prettier-ignore
export const DURATION_INCREMENTS: number[] = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
  10800, 21600, 43200, 86400, 172800, 432000, 864000, 1728000, 4320000, 8640000, 31536000,
];

/** A duration as a tick label, without parts that are zero. */
export function durationLabel(seconds: number): string {
  return formatDuration(seconds).replace(/ 00[smh]$/, "");
}

const UNITS: [size: number, suffix: string][] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
];

/** The exponent of a number's first digit. */
function exponent(value: number): number {
  return Math.floor(Math.log10(Math.abs(value)) + 1e-9);
}

/** The exponent of the last digit of a round step: -1 for 0.5, -2 for 0.25, 1 for 20. */
function lastDigit(step: number): number {
  const first = exponent(step);
  const mantissa = step / 10 ** first;
  return Math.abs(mantissa - Math.round(mantissa)) < 0.01 ? first : first - 1;
}

function withUnit(value: number, [unit, suffix]: [number, string], digits: number): string {
  return (value / unit).toFixed(digits).replace("-", "−") + suffix;
}

function withExponent(value: number, digits: number): string {
  return value
    .toExponential(Math.max(0, Math.min(15, digits)))
    .replace("e+", "e")
    .replace(/^-/, "−");
}

/** Labels for numeric ticks, with as many digits as it takes to tell neighbors apart. */
export function tickLabels(ticks: (number | null)[]): string[] {
  const values = ticks.filter((tick): tick is number => tick !== null);
  const step = values.length > 1 ? Math.abs(values[1]! - values[0]!) : 0;
  const largest = Math.max(...values.map(Math.abs), 0);
  // Numbers of four digits are as short as they are with a unit.
  const unit = UNITS.find(([size]) => largest >= (size === 1e3 ? 10 * size : size)) ?? [1, ""];
  return ticks.map((tick) => {
    if (tick === null) return "";
    if (Math.abs(tick) <= step / 1e6) return "0";
    if (step === 0) return formatValue(tick);
    const last = lastDigit(step);
    if (largest < 1e-3 || largest >= 1e15) return withExponent(tick, exponent(tick) - last);
    return withUnit(tick, unit, Math.max(0, Math.min(15, exponent(unit[0]) - last)));
  });
}

/** A tick of a logarithmic axis, on its own: its neighbors may be many powers of ten away. */
function logLabel(tick: number): string {
  if (!(tick >= 1e-3 && tick < 1e15)) return withExponent(tick, 3).replace(/\.?0+e/, "e");
  const unit = UNITS.find(([size]) => tick >= size) ?? [1, ""];
  return String(+(tick / unit[0]).toPrecision(6)) + unit[1];
}

const MAX_TICKS = 100;

export interface Ticks {
  values: number[];
  labels: string[];
}

/** Round values within a range, roughly `count` of them, and their labels. */
export function niceTicks(range: Range, log: boolean, count: number): Ticks {
  const values = log ? logTicks(range, count) : [];
  if (values.length >= 2) return { values, labels: values.map(logLabel) };
  // A logarithmic axis of less than a power of ten is divided like a linear one.
  const linear = linearTicks(range, count);
  return { values: linear, labels: tickLabels(linear) };
}

/** Times and durations within a range, roughly `count` of them, at round seconds, minutes, hours or days. */
export function timeTicks([from, to]: Range, count: number, kind: "wall" | "relative"): Ticks {
  const rough = (to - from) / count;
  const step = DURATION_INCREMENTS.find((increment) => increment >= rough) ?? rough;
  // Round in the reader's time zone.
  const offset = kind === "wall" ? new Date(from * 1000).getTimezoneOffset() * 60 : 0;
  const values: number[] = [];
  for (let i = Math.ceil((from - offset) / step); i * step + offset <= to && values.length < MAX_TICKS; i++) {
    values.push(i * step + offset);
  }
  if (kind === "relative") return { values, labels: values.map(durationLabel) };
  const sameDay = formatTime(from).slice(0, 10) === formatTime(to).slice(0, 10);
  const part: [number, number] = step >= 86400 ? [0, 10] : sameDay ? [11, step < 60 ? 19 : 16] : [5, 16];
  return { values, labels: values.map((value) => formatTime(value).slice(...part)) };
}

function linearTicks([from, to]: Range, count: number): number[] {
  const rough = to / count - from / count;
  if (!(rough > 0 && Number.isFinite(rough))) return [from];
  const size = 10 ** exponent(rough);
  const step = [1, 2, 5, 10].map((m) => m * size).find((s) => s >= rough * (1 - 1e-9)) ?? size * 10;
  const ticks: number[] = [];
  const first = Math.ceil(from / step - 1e-9);
  // The number of ticks is bounded: far from zero, adding a small step changes nothing.
  for (let i = 0; i < MAX_TICKS && (first + i) * step <= to + step * 1e-9; i++) {
    const tick = (first + i) * step;
    if (tick !== ticks.at(-1)) ticks.push(tick);
  }
  return ticks;
}

/** Powers of ten, or 1, 2 and 5 times them if there is room. */
function logTicks([from, to]: Range, count: number): number[] {
  const [low, high] = [Math.log10(from), Math.log10(to)];
  if (!(Number.isFinite(low) && Number.isFinite(high))) return [];
  const stride = Math.ceil((high - low) / Math.max(1, count));
  const multiples = (high - low) * 3 <= count ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let power = Math.floor(low / stride) * stride; power <= high && ticks.length < MAX_TICKS; power += stride) {
    for (const m of multiples) {
      const tick = Number(`${m}e${power}`);
      if (tick >= from && tick <= to) ticks.push(tick);
    }
  }
  return ticks;
}
