// Regular expressions typed into filter fields.

export interface Pattern {
  /** Whether a text matches. Everything matches an empty or invalid pattern. */
  matches: (text: string) => boolean;
  /** What is wrong with the expression, or null. */
  error: string | null;
}

const ANYTHING: Pattern = { matches: () => true, error: null };

/** A filter from user input. Case does not matter; lookaheads such as `^(?!.*test).*` work. */
export function parsePattern(text: string): Pattern {
  if (text.trim() === "") return ANYTHING;
  try {
    const expression = new RegExp(text, "iu");
    return { matches: (candidate) => expression.test(candidate), error: null };
  } catch {
    // The `u` flag is stricter than what people are used to: it rejects `\-` and an unpaired `]`.
    try {
      const expression = new RegExp(text, "i");
      return { matches: (candidate) => expression.test(candidate), error: null };
    } catch (error) {
      const reason =
        error instanceof Error ? error.message.replace(/^Invalid regular expression: /, "") : String(error);
      return { ...ANYTHING, error: `Invalid regular expression: ${reason}` };
    }
  }
}

/** What the first group of an expression matches in a text, or the whole match if there is no group. */
export function firstGroup(text: string, expression: string): string | null {
  try {
    const match = new RegExp(expression).exec(text);
    return match ? (match[1] ?? match[0]) : null;
  } catch {
    return null;
  }
}
