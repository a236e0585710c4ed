// Finding by a few letters, as in a command palette.

/** How well letters fit a text, higher is better; null where they do not occur in order. */
export function fitOf(letters: string, text: string): number | null {
  const wanted = letters.toLowerCase().replace(/\s+/g, "");
  if (wanted === "") return 0;
  const within = text.toLowerCase();
  const whole = within.indexOf(letters.toLowerCase().trim());
  if (whole >= 0) return 1000 - whole - within.length * 0.1 + (whole === 0 || isBreak(within, whole) ? 200 : 0);
  let score = 0;
  let at = -1;
  for (const letter of wanted) {
    const next = within.indexOf(letter, at + 1);
    if (next < 0) return null;
    score += next === at + 1 ? 6 : isBreak(within, next) ? 4 : 0;
    score -= Math.min(4, (next - at - 1) * 0.2);
    at = next;
  }
  return score - within.length * 0.05;
}

function isBreak(text: string, index: number): boolean {
  return index === 0 || /[\s/._\-:]/.test(text[index - 1]!);
}

/** The entries that fit, best first. */
export function find<T>(letters: string, entries: T[], textOf: (entry: T) => string, limit: number): T[] {
  const fits: { entry: T; fit: number; order: number }[] = [];
  entries.forEach((entry, order) => {
    const fit = fitOf(letters, textOf(entry));
    if (fit !== null) fits.push({ entry, fit, order });
  });
  fits.sort((a, b) => b.fit - a.fit || a.order - b.order);
  return fits.slice(0, limit).map(({ entry }) => entry);
}
