// What tags mean, asked for once a tag.

import type { Meaning } from "../lib/api";
import { getMeaning } from "../pages/client";

const known = new Map<string, Promise<Meaning | null>>();

/** The meaning of a tag; null where no profile knows it or the server has none to give. */
export function meaningOf(tag: string): Promise<Meaning | null> {
  let meaning = known.get(tag);
  if (!meaning) {
    meaning = getMeaning(tag).catch(() => null);
    known.set(tag, meaning);
  }
  return meaning;
}
