// Fuzzy search, as in a command palette.

/** How well a query matches a text; higher is better. Null if its letters do not occur in order. */
export function matchScore(query: string, text: string): number | null {
  const letters = query.toLowerCase().replace(/\s+/g, "");
  if (letters === "") return 0;
  const lower = text.toLowerCase();
  const start = lower.indexOf(query.toLowerCase().trim());
  if (start >= 0) return 1000 - start - lower.length * 0.1 + (start === 0 || isWordStart(lower, start) ? 200 : 0);
  let score = 0;
  let last = -1;
  for (const letter of letters) {
    const next = lower.indexOf(letter, last + 1);
    if (next < 0) return null;
    score += next === last + 1 ? 6 : isWordStart(lower, next) ? 4 : 0;
    score -= Math.min(4, (next - last - 1) * 0.2);
    last = next;
  }
  return score - lower.length * 0.05;
}

function isWordStart(text: string, index: number): boolean {
  return index === 0 || /[\s/._\-:]/.test(text[index - 1]!);
}

/** The entries that match, best first. */
export function search<T>(query: string, entries: T[], textOf: (entry: T) => string, limit: number): T[] {
  const matches: { entry: T; score: number; order: number }[] = [];
  entries.forEach((entry, order) => {
    const score = matchScore(query, textOf(entry));
    if (score !== null) matches.push({ entry, score, order });
  });
  matches.sort((a, b) => b.score - a.score || a.order - b.order);
  return matches.slice(0, limit).map(({ entry }) => entry);
}
