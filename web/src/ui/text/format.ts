// Numbers, times and counts as short text.

/** A value with four significant digits. Exponents only for very large and very small values. */
export function formatValue(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined) return "–";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e") as [string, string];
    const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
    return `${short}e${exponent.replace("+", "")}`.replace(/^-/, "−");
  }
  if (Number.isInteger(value)) return withThousands(value);
  if (size >= 1000 && digits <= 4) return withThousands(value);
  const text = size >= 1000 ? value.toFixed(digits - 4) : value.toPrecision(digits);
  const short = text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  return short.replace(/^-/, "−");
}

/** A difference: always with its sign, `+0.12` or `−3`. */
export function formatSigned(value: number | null | undefined, digits = 3): string {
  return `${typeof value === "number" && value > 0 ? "+" : ""}${formatValue(value, digits)}`;
}

/** A whole number with commas between thousands, as diagnosis writes them. */
export function withThousands(value: number): string {
  const text = String(Math.abs(Math.round(value)));
  return (value < 0 ? "−" : "") + text.replace(/\B(?=(\d{3})+$)/g, ",");
}

const COUNTS: [number, string][] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** A count for a narrow space: 950, 1.2k, 34M. */
export function formatCount(value: number): string {
  for (const [size, unit] of COUNTS) {
    if (Math.abs(value) >= size) {
      const scaled = value / size;
      return `${scaled >= 100 ? scaled.toFixed(0) : scaled.toFixed(1).replace(/\.0$/, "")}${unit}`;
    }
  }
  return formatValue(value);
}

/** A duration in its two largest units: `2h 05m`, `3.4s`. */
export function formatDuration(seconds: number): string {
  const sign = seconds < 0 ? "−" : "";
  const s = Math.abs(seconds);
  if (s < 1) return `${sign}${s === 0 ? 0 : +(s * 1000).toPrecision(2)}${s === 0 ? "s" : "ms"}`;
  if (s < 60) return `${sign}${+s.toFixed(s < 10 ? 1 : 0)}s`;
  const pad = (n: number) => String(n).padStart(2, "0");
  if (s < 3600) return `${sign}${Math.floor(s / 60)}m ${pad(Math.floor(s % 60))}s`;
  if (s < 86400) return `${sign}${Math.floor(s / 3600)}h ${pad(Math.floor((s % 3600) / 60))}m`;
  return `${sign}${Math.floor(s / 86400)}d ${pad(Math.floor((s % 86400) / 3600))}h`;
}

/** How long ago a time was, or its date if that is more than a month. */
export function formatAgo(time: number, now: number): string {
  const seconds = now - time;
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds < 30 * 86400) return `${Math.floor(seconds / 86400)} d ago`;
  return new Date(time * 1000).toISOString().slice(0, 10);
}

/** A wall time in the reader's time zone, to the second. */
export function formatTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  const pad = (n: number) => String(n).padStart(2, "0");
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

/** A value on the x axis: a duration if it is relative, a date if it is a wall time, else a number. */
export function formatX(value: number, kind: string): string {
  if (kind === "relative") return formatDuration(value);
  if (kind === "wall") return formatTime(value);
  return Number.isInteger(value) ? withThousands(value) : formatValue(value);
}

/** Any value of a config, on one line. */
export function formatSetting(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return formatValue(value, 6);
  if (typeof value === "string") return value;
  return JSON.stringify(value);
}

/** A fraction as a percentage: `86%`, `<1%`. */
export function formatPercent(frac: number): string {
  const percent = frac * 100;
  return percent > 0 && percent < 1 ? "<1%" : `${Math.round(percent)}%`;
}

/** A count with its noun: `1 run`, `2 runs`. */
export function plural(count: number, singular: string, pluralForm = `${singular}s`): string {
  return `${withThousands(count)} ${count === 1 ? singular : pluralForm}`;
}
