// The tags on the server.

import type { TagSummary } from "../api/types";

class TagIndex {
  all = $state.raw<TagSummary[]>([]);
  byName = $derived(new Map(this.all.map((tag) => [tag.tag, tag])));
  /** The kinds of values that any run logged: scalar, histogram, image, … */
  kinds = $derived(new Set(this.all.flatMap((tag) => tag.kinds)));
}

export const tagIndex = new TagIndex();

export function storeTags(tags: TagSummary[]): void {
  tagIndex.all = tags;
}

/** Whether any run logged values of a kind, or of a variant of it such as `image_sequence`. */
export function hasKind(kind: string): boolean {
  return [...tagIndex.kinds].some((logged) => logged.startsWith(kind));
}

/** The runs of `candidates` that logged a tag. All of them if the server does not list the runs of a tag. */
export function runsWithTag(tag: string, candidates: string[]): string[] {
  const entry = tagIndex.byName.get(tag);
  if (!entry || typeof entry.runs === "number") return candidates;
  const names = new Set(entry.runs);
  return candidates.filter((run) => names.has(run));
}
