// Numbers in JSON: NaN and the infinities are sent as the strings "nan", "inf" and "-inf".

const SPECIAL_VALUES: Record<string, number> = { nan: NaN, inf: Infinity, "-inf": -Infinity };

/** The number that a JSON value stands for, or null if it is not a number. */
export function parseJsonNumber(value: unknown): number | null {
  if (typeof value === "number") return value;
  return typeof value === "string" ? (SPECIAL_VALUES[value] ?? null) : null;
}
