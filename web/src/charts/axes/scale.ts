// Scales map values to positions on a drawing.

import type { Range } from "./range";

/** The position of a value; NaN if it has none, such as zero on a logarithmic axis. */
export type Scale = (value: number) => number;

export interface Scales {
  x: Scale;
  y: Scale;
}

/** A linear or logarithmic scale from a range of values to the positions between `start` and `end`. */
export function makeScale([from, to]: Range, start: number, end: number, log: boolean): Scale {
  if (log) {
    const offset = Math.log(from);
    const factor = (end - start) / (Math.log(to) - offset);
    return (value) => (value > 0 ? start + (Math.log(value) - offset) * factor : NaN);
  }
  const factor = (end - start) / (to - from);
  return (value) => start + (value - from) * factor;
}
