// Numbers as JSON carries them: NaN and infinities are the words "nan", "inf" and "-inf".

const WORDS: Record<string, number> = { nan: NaN, inf: Infinity, "-inf": -Infinity };

/** The number a value is, or null where it is none. */
export function numberOf(value: unknown): number | null {
  if (typeof value === "number") return value;
  return typeof value === "string" ? (WORDS[value] ?? null) : null;
}
