// Which tags matter most.

const KEY_TAGS = [
  /(val|valid|validation|eval|test).*(loss|error|perplexity|accuracy|acc|f1|auc|score)/i,
  /(accuracy|acc|f1|auc|score|reward|return)/i,
  /loss/i,
];

export interface TagCount {
  tag: string;
  /** How many runs have it. */
  runs: number;
}

/** Validation before training, quality before anything else, the rest by how many runs have them. */
export function tagsByImportance(tags: TagCount[]): string[] {
  const rank = (tag: string) => {
    const index = KEY_TAGS.findIndex((pattern) => pattern.test(tag));
    return index < 0 ? KEY_TAGS.length : index;
  };
  return tags
    .toSorted((a, b) => rank(a.tag) - rank(b.tag) || b.runs - a.runs || (a.tag < b.tag ? -1 : 1))
    .map((tag) => tag.tag);
}

/** A few tags to show first. Tags of few runs are left out. */
export function keyTags(tags: TagCount[], count: number): string[] {
  const minRuns = Math.max(...tags.map((tag) => tag.runs), 0) / 3;
  return tagsByImportance(tags.filter((tag) => tag.runs >= minRuns)).slice(0, count);
}
