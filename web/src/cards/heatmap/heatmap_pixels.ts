// A heatmap as pixels: values to colors, many rows to few.

import type { Heatmap } from "../../api/columns";
import { channels } from "../../ui/color";

/** The range of colors. On a logarithmic scale, values are their logarithms to base 10. */
export interface HeatScale {
  low: number;
  high: number;
  log: boolean;
}

export interface Pixels {
  width: number;
  height: number;
  /** Red, green, blue and alpha of each pixel. */
  data: Uint8ClampedArray<ArrayBuffer>;
}

/** Logarithmic if all values are positive and the largest is this many times the smallest. */
const LOG_FROM = 20;
const NOT_FINITE = Infinity;

export function heatScale({ values }: Heatmap): HeatScale | null {
  let [low, high, leastPositive] = [Infinity, -Infinity, Infinity];
  for (const value of values) {
    if (Number.isNaN(value) || value === NOT_FINITE) continue;
    if (value < low) low = value;
    if (value > high) high = value;
    if (value > 0 && value < leastPositive) leastPositive = value;
  }
  if (low > high) return null;
  // Zeros, such as gradients of a frozen layer, have the color of the smallest value.
  const log = low >= 0 && high > LOG_FROM * leastPositive;
  return log ? { low: Math.log10(leastPositive), high: Math.log10(high), log } : { low, high, log };
}

/** Paints rows on as many lines of pixels as there are, or fewer: a line is then the mean of several rows. */
export function paintHeatmap(
  { members, x, values }: Heatmap,
  { low, high, log }: HeatScale,
  maxHeight: number,
  { colors, critical }: { colors: string[]; critical: string },
): Pixels {
  const [rows, width] = [members.length, x.length];
  const height = Math.max(1, Math.min(rows, Math.floor(maxHeight)));
  const table = colorTable(colors);
  const wrong = channels(critical);
  const data = new Uint8ClampedArray(width * height * 4);
  const [sums, counts] = [new Float64Array(width), new Uint32Array(width)];
  const top = table.length / 3 - 1;
  const factor = high > low ? top / (high - low) : 0;
  for (let line = 0; line < height; line++) {
    const [first, end] = rowsOfLine(line, height, rows);
    sums.fill(0);
    counts.fill(0);
    for (let row = first; row < end; row++) {
      for (let column = 0, at = row * width; column < width; column++, at++) {
        const value = values[at]!;
        if (Number.isNaN(value)) continue;
        // One value that is not finite must not vanish among hundreds of others.
        sums[column]! += value === NOT_FINITE ? Infinity : log ? Math.max(low, Math.log10(value)) : value;
        counts[column]! += 1;
      }
    }
    for (let column = 0; column < width; column++) {
      if (counts[column] === 0) continue;
      const pixel = (line * width + column) * 4;
      const mean = sums[column]! / counts[column]!;
      if (mean === Infinity) data.set(wrong, pixel);
      else
        data.set(
          table.subarray(3 * Math.round((mean - low) * factor), 3 * Math.round((mean - low) * factor) + 3),
          pixel,
        );
      data[pixel + 3] = 255;
    }
  }
  return { width, height, data };
}

/** The rows that a line of pixels shows: from the first one up to, but not including, the second one. */
export function rowsOfLine(line: number, height: number, rows: number): [first: number, end: number] {
  const first = Math.floor((line * rows) / height);
  return [first, Math.max(first + 1, Math.floor(((line + 1) * rows) / height))];
}

const TABLE_SIZE = 256;

/** Colors between the given ones, as red, green and blue. */
function colorTable(colors: string[]): Uint8Array {
  const stops = colors.map(channels);
  const table = new Uint8Array(3 * TABLE_SIZE);
  for (let i = 0; i < TABLE_SIZE; i++) {
    const place = (i / (TABLE_SIZE - 1)) * (stops.length - 1);
    const left = Math.min(stops.length - 2, Math.floor(place));
    for (let k = 0; k < 3; k++) {
      table[3 * i + k] = stops[left]![k]! + (stops[left + 1]![k]! - stops[left]![k]!) * (place - left);
    }
  }
  return table;
}
