// Colors of runs: different for the runs on the charts, as long as there are colors.

import { runColorsOf, type Theme } from "../ui/theme.svelte";

/** How many colors the style sheet has for runs. */
export const COLOR_COUNT = 20;

/** The first of them are the farthest apart, and are given first. */
export const DISTINCT_COUNT = 8;

/** A 32-bit hash (FNV-1a with a final mix), which differs a lot for names that differ in one digit. */
export function hashName(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) {
    hash ^= name.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/**
 * Assigns names that are drawn together an index of a color each. A name keeps the color it had, unless a name that is
 * drawn with it has the same; then it gets the next one that is used least. A new name gets a color that depends on the
 * name, if that is free, so that a run has the same color on most days and pages. The most distinct colors go first.
 */
export function assignColors(drawn: string[], before: ReadonlyMap<string, number>): Map<string, number> {
  const indexes = new Map<string, number>();
  const uses = new Array<number>(COLOR_COUNT).fill(0);
  const give = (name: string, index: number) => {
    indexes.set(name, index);
    uses[index]! += 1;
  };
  const waiting: string[] = [];
  for (const name of drawn) {
    const index = before.get(name);
    if (index !== undefined && uses[index] === 0) give(name, index);
    else waiting.push(name);
  }
  for (const name of waiting) {
    const least = Math.min(...uses);
    const count = uses.indexOf(least) < DISTINCT_COUNT ? DISTINCT_COUNT : COLOR_COUNT;
    let index = hashName(name) % count;
    while (uses[index]! > least) index = (index + 1) % count;
    give(name, index);
  }
  return indexes;
}

/** The color at an index, in the theme that is shown. */
export function paletteColor(index: number, theme: Theme): string {
  return runColorsOf(theme)[index % COLOR_COUNT]!;
}
