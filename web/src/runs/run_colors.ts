// Colors of runs. They depend on the run's name, so that a run keeps its color across days and pages.

import { oklchToHex } from "../ui/color";
import type { Theme } from "../ui/theme.svelte";

const HUES = [255, 45, 150, 315, 75, 225, 15, 105, 285, 180, 345, 130];
/** Lightness and chroma of each round of hues, so that a thin line is readable on the background of its theme. */
const ROUNDS: Record<Theme, [lightness: number, chroma: number][]> = {
  light: [
    [0.55, 0.16],
    [0.44, 0.13],
    [0.6, 0.13],
  ],
  dark: [
    [0.74, 0.14],
    [0.64, 0.16],
    [0.84, 0.1],
  ],
};
export const COLOR_COUNT = HUES.length * 3;

const PALETTES: Record<Theme, string[]> = { light: makePalette("light"), dark: makePalette("dark") };

function makePalette(theme: Theme): string[] {
  return ROUNDS[theme].flatMap(([lightness, chroma], round) =>
    // Neighboring hues differ in lightness too, so that brown and red, or two greens, are easy to tell apart.
    HUES.map((hue) => oklchToHex(lightness + (Math.floor(hue / 30) % 2 ? 0.04 : -0.05), chroma, hue + round * 12)),
  );
}

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
 * Assigns each name an index into the palette, in the given order. If a name's own color is taken it gets the next free
 * one, so runs keep their colors when later runs appear. With more names than colors, only the hash decides.
 */
export function assignColors(names: string[]): Map<string, number> {
  const indexes = new Map<string, number>();
  const taken = new Set<number>();
  for (const name of names) {
    const hash = hashName(name);
    let index = hash % COLOR_COUNT;
    // The first round of hues is the clearest, so it is used up before the second.
    const round = Math.floor(taken.size / HUES.length);
    if (round < COLOR_COUNT / HUES.length) {
      let hue = hash % HUES.length;
      while (taken.has(round * HUES.length + hue)) hue = (hue + 1) % HUES.length;
      index = round * HUES.length + hue;
      taken.add(index);
    }
    indexes.set(name, index);
  }
  return indexes;
}

/** The color at an index of the palette. */
export function paletteColor(index: number, theme: Theme): string {
  return PALETTES[theme][index % COLOR_COUNT]!;
}
