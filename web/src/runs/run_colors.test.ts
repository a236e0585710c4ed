import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { contrast } from "../ui/color";
import { assignColors, COLOR_COUNT, paletteColor } from "./run_colors";

test("a run keeps its color when other runs appear after it", () => {
  const few = assignColors(["a", "b", "c"]);
  const many = assignColors(["a", "b", "c", ...Array.from({ length: 200 }, (_, i) => `run${i}`)]);
  for (const name of ["a", "b", "c"]) expect(many.get(name)).toBe(few.get(name));
});

test("the first thirty-six runs all have different colors", () => {
  const indexes = assignColors(Array.from({ length: COLOR_COUNT }, (_, i) => `run-${i}`));
  expect(new Set(indexes.values()).size).toBe(COLOR_COUNT);
});

test("every color is visible on the card background of both themes", () => {
  const css = readFileSync(join(import.meta.dirname, "../ui/styles/theme.css"), "utf8");
  const [light, dark] = [...css.matchAll(/--card: (#\w+);/g)].map((match) => match[1]!);
  for (let index = 0; index < COLOR_COUNT; index++) {
    expect(contrast(paletteColor(index, "light"), light!)).toBeGreaterThan(2.9);
    expect(contrast(paletteColor(index, "dark"), dark!)).toBeGreaterThan(2.9);
  }
});
