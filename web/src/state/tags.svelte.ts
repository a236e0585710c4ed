// The tags a tab shows: of a kind, of the drawn runs, that the filter lets through.

import { patternOf } from "../lib/pattern";
import { app } from "./app.svelte";

/** Tags of a kind that any drawn run has, filtered. */
export function shownTags(kind: (kinds: string[]) => boolean): string[] {
  const pattern = patternOf(app.view.tagFilter);
  const drawn = app.drawnSet;
  const all = drawn.size === app.runs.length;
  return app.tags
    .filter((tag) => kind(tag.kinds) && pattern.fits(tag.tag))
    .filter((tag) => all || typeof tag.runs === "number" || tag.runs.some((run) => drawn.has(run)))
    .map((tag) => tag.tag);
}

/** The drawn runs that have a tag. */
export function runsWith(tag: string): string[] {
  const entry = app.tagIndex.get(tag);
  if (!entry || typeof entry.runs === "number") return app.drawn;
  const having = new Set(entry.runs);
  return app.drawn.filter((run) => having.has(run));
}

export const isScalar = (kinds: string[]) => kinds.includes("scalar");
export const isHistogram = (kinds: string[]) => kinds.some((kind) => kind.startsWith("histogram"));
export const isImage = (kinds: string[]) => kinds.some((kind) => kind.startsWith("image") || kind === "video");
export const isAudio = (kinds: string[]) => kinds.includes("audio");
export const isText = (kinds: string[]) => kinds.includes("text");
