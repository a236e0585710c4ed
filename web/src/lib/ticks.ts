// Where the marks of an axis stand and what they say.

import { formatDuration, formatValue } from "./format";

/** Steps between marks of whole numbers. */
export const STEP_INCREMENTS: number[] = [];
for (let power = 0; power < 16; power++) for (const m of [1, 2, 5]) STEP_INCREMENTS.push(m * 10 ** power);

/** Steps between marks of a stretch of time, in seconds. */
export const TIME_INCREMENTS: number[] = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800,
  21600, 43200, 86400, 172800, 432000, 864000, 1728000, 4320000, 8640000, 31536000,
];

/** A stretch of time as a mark: without the part that is zero. */
export function formatSpan(seconds: number): string {
  return formatDuration(seconds).replace(/ 00[smh]$/, "");
}

const UNITS: [number, string][] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
];

/** How many digits after the point write a number out. */
function digitsOf(value: number): number {
  for (let digits = 0; digits < 9; digits++) {
    const scaled = value * 10 ** digits;
    if (scaled >= 0.5 && Math.abs(scaled - Math.round(scaled)) < 1e-6 * scaled) return digits;
  }
  return 9;
}

/** The texts of the marks of an axis of numbers: as many digits as tell neighbours apart. */
export function axisMarks(values: (number | null)[]): string[] {
  const known = values.filter((value): value is number => value !== null);
  const step = known.length > 1 ? Math.abs(known[1]! - known[0]!) : 0;
  const most = Math.max(...known.map(Math.abs), 0);
  const [unit, letter] = UNITS.find(([size]) => most >= size * (size > 1 ? 10 : 1)) ?? [1, ""];
  const digits = step > 0 ? digitsOf(step / unit) : 3;
  return values.map((value) => {
    if (value === null) return "";
    if (value === 0) return "0";
    if (most < 1e-3 || most >= 1e15 || digits > 5) return formatValue(value, 3);
    return (value / unit).toFixed(digits).replace("-", "−") + letter;
  });
}
