// Families of tags: tags that differ in one number, such as gradient_norm/layer_0 to gradient_norm/layer_47.

export interface TagFamily {
  /** The tags, with {i} in place of the number. */
  pattern: string;
  /** The members, in the order in which they were given. */
  tags: string[];
}

/** With fewer members, curves say more than a heatmap. */
const MIN_MEMBERS = 6;
const PLACEHOLDER = "{i}";

/** The families among tags, the largest first. A tag with several numbers belongs to the largest family it fits. */
export function familiesIn(tags: string[]): TagFamily[] {
  const candidates = new Map<string, string[]>();
  for (const tag of tags) {
    for (const pattern of patternsOf(tag)) {
      const members = candidates.get(pattern);
      if (members) members.push(tag);
      else candidates.set(pattern, [tag]);
    }
  }
  const largest = [...candidates].filter(([, members]) => members.length >= MIN_MEMBERS);
  largest.sort(([, a], [, b]) => b.length - a.length);
  const taken = new Set<string>();
  const families: TagFamily[] = [];
  for (const [pattern, members] of largest) {
    const free = members.filter((tag) => !taken.has(tag));
    if (free.length < MIN_MEMBERS) continue;
    for (const tag of free) taken.add(tag);
    families.push({ pattern, tags: members });
  }
  return families;
}

/** Families by the first of their tags. */
export function byFirstTag(families: TagFamily[]): Map<string, TagFamily[]> {
  const byTag = new Map<string, TagFamily[]>();
  for (const family of families) byTag.set(family.tags[0]!, [...(byTag.get(family.tags[0]!) ?? []), family]);
  return byTag;
}

/** The families that a tag could belong to: one for each of its numbers. */
function patternsOf(tag: string): string[] {
  return [...tag.matchAll(/\d+/g)].map(
    ({ index, 0: digits }) => tag.slice(0, index) + PLACEHOLDER + tag.slice(index + digits.length),
  );
}

/** The tag of a member. */
export function memberTag(pattern: string, number: string): string {
  return pattern.replace(PLACEHOLDER, () => number);
}
