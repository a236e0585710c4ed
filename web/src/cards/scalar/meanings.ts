// What tags mean. Requested once per tag.

import { getMeaning } from "../../api/client";
import type { Meaning } from "../../api/types";

const requested = new Map<string, Promise<Meaning | null>>();

/** The meaning of a tag; null if no profile describes it. */
export function meaningOf(tag: string): Promise<Meaning | null> {
  let meaning = requested.get(tag);
  if (!meaning) {
    meaning = getMeaning(tag).catch(() => null);
    requested.set(tag, meaning);
  }
  return meaning;
}
