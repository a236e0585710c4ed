// Which metrics tell most about a run.

const TELLING = [/(val|valid|validation|eval|test).*(loss|error|perplexity|accuracy|acc|f1|auc|score)/i, /(accuracy|acc|f1|auc|score|reward|return)/i, /loss/i];

/** A few tags to show at first: validation before training, quality before anything else; the rest by how many runs have them. */
export function tellingTags(tags: { tag: string; runs: number }[], count: number): string[] {
  const rank = (tag: string) => {
    const index = TELLING.findIndex((pattern) => pattern.test(tag));
    return index < 0 ? TELLING.length : index;
  };
  const least = Math.max(...tags.map((tag) => tag.runs), 0) / 3;
  const sorted = tags.filter((tag) => tag.runs >= least).sort((a, b) => rank(a.tag) - rank(b.tag) || b.runs - a.runs || (a.tag < b.tag ? -1 : 1));
  return sorted.slice(0, count).map((tag) => tag.tag);
}
