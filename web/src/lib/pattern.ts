// Regular expressions as people type them in filters.

export interface Pattern {
  /** Whether a text fits; everything fits an empty or broken pattern. */
  fits: (text: string) => boolean;
  /** What is wrong with the expression, or null. */
  error: string | null;
}

const ANYTHING: Pattern = { fits: () => true, error: null };

/** A filter from what was typed: case does not matter, and look-ahead such as `^(?!.*test).*` works. */
export function patternOf(text: string): Pattern {
  if (text.trim() === "") return ANYTHING;
  try {
    const expression = new RegExp(text, "iu");
    return { fits: (candidate) => expression.test(candidate), error: null };
  } catch {
    // `u` is stricter than what people are used to: `\-` and a lone `]` are errors under it.
    try {
      const expression = new RegExp(text, "i");
      return { fits: (candidate) => expression.test(candidate), error: null };
    } catch (error) {
      const reason = error instanceof Error ? error.message.replace(/^Invalid regular expression: /, "") : String(error);
      return { ...ANYTHING, error: `Not a regular expression: ${reason}` };
    }
  }
}

/** What an expression's first group (or the whole match) catches in a text; null where it does not fit. */
export function caught(text: string, expression: string): string | null {
  try {
    const match = new RegExp(expression).exec(text);
    return match ? (match[1] ?? match[0]) : null;
  } catch {
    return null;
  }
}
