// The tags that a tab shows.

import { runList } from "../runs/run_list.svelte";
import { runIndex } from "../state/runs.svelte";
import { runsWithTag, tagIndex } from "../state/tags.svelte";
import { view } from "../state/view.svelte";
import { parsePattern } from "../ui/text/pattern";

/** Tests the kinds of values of a tag. */
export type KindTest = (kinds: string[]) => boolean;

/** The tags of a kind that any visible run has and that match the tag filter. */
export function matchingTags(kind: KindTest): string[] {
  const pattern = parsePattern(view.tagFilter);
  const visible = runList.visibleSet;
  const all = visible.size === runIndex.all.length;
  return tagIndex.all
    .filter((tag) => kind(tag.kinds) && pattern.matches(tag.tag))
    .filter((tag) => all || typeof tag.runs === "number" || tag.runs.some((run) => visible.has(run)))
    .map((tag) => tag.tag);
}

/** The visible runs that have a tag. */
export function visibleRunsWith(tag: string): string[] {
  return runsWithTag(tag, runList.visible);
}

export const isScalar: KindTest = (kinds) => kinds.includes("scalar");
export const isHistogram: KindTest = (kinds) => kinds.some((kind) => kind.startsWith("histogram"));
export const isImage: KindTest = (kinds) => kinds.some((kind) => kind.startsWith("image") || kind === "video");
export const isAudio: KindTest = (kinds) => kinds.includes("audio");
export const isText: KindTest = (kinds) => kinds.includes("text");
