// The curves of a card as CSV and JSON.

import type { Curve, Numbers } from "../../api/columns";

/** One field of a CSV file, quoted if necessary. */
export function csvField(value: string): string {
  return /[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  return String(value);
}

/** What the card draws, as a long table. Pixel columns with several points include their min and max. */
export function curvesToCsv(curves: Curve[], xName: string): string {
  const rows = [`run,tag,${xName},value,min,max,smoothed`];
  for (const curve of curves) {
    for (let i = 0; i < curve.x.length; i++) {
      const value = curve.exact ? curve.y[i]! : curve.last[i]!;
      rows.push(
        [
          csvField(curve.run),
          csvField(curve.tag),
          numberText(curve.x[i]!),
          numberText(value),
          numberText(curve.low?.[i] ?? curve.min[i]!),
          numberText(curve.high?.[i] ?? curve.max[i]!),
          curve.smooth ? numberText(curve.smooth[i]!) : "",
        ].join(","),
      );
    }
  }
  return rows.join("\n") + "\n";
}

/** What the card draws, as JSON. NaN and infinities are strings, because JSON has no numbers for them. */
export function curvesToJson(curves: Curve[], xName: string): string {
  const numbers = (values: Numbers) => [...values].map((value) => (Number.isFinite(value) ? value : numberText(value)));
  return JSON.stringify(
    curves.map((curve) => ({
      run: curve.run,
      tag: curve.tag,
      points: curve.points,
      exact: curve.exact,
      [xName]: numbers(curve.x),
      value: numbers(curve.exact ? curve.y : curve.last),
      ...(curve.exact ? {} : { min: numbers(curve.min), max: numbers(curve.max) }),
      ...(curve.smooth ? { smoothed: numbers(curve.smooth) } : {}),
    })),
    null,
    1,
  );
}
