// Which tags matter most.

const KEY_TAGS = [
  /(val|valid|validation|eval|test).*(loss|error|perplexity|accuracy|acc|f1|auc|score)/i,
  /(accuracy|acc|f1|auc|score|reward|return)/i,
  /loss/i,
];

/**
 * A few tags to show first: validation before training, quality before anything else, the rest by how many runs have
 * them. Tags of few runs are left out.
 */
export function keyTags(tags: { tag: string; runs: number }[], count: number): string[] {
  const rank = (tag: string) => {
    const index = KEY_TAGS.findIndex((pattern) => pattern.test(tag));
    return index < 0 ? KEY_TAGS.length : index;
  };
  const minRuns = Math.max(...tags.map((tag) => tag.runs), 0) / 3;
  return tags
    .filter((tag) => tag.runs >= minRuns)
    .sort((a, b) => rank(a.tag) - rank(b.tag) || b.runs - a.runs || (a.tag < b.tag ? -1 : 1))
    .slice(0, count)
    .map((tag) => tag.tag);
}
