import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { contrast } from "../ui/color";
import { assignColors, COLOR_COUNT, DISTINCT_COUNT } from "./run_colors";

const css = readFileSync(join(import.meta.dirname, "../ui/styles/theme.css"), "utf8");
const palettes = [...css.matchAll(/--run-colors:([^;]*);/g)].map((match) =>
  match[1]!.split(",").map((color) => color.trim()),
);
const cards = [...css.matchAll(/--card: (#\w+);/g)].map((match) => match[1]!);
const names = (count: number) => Array.from({ length: count }, (_, i) => `run-${i}`);

test("a run keeps its color when others are drawn with it or no longer are", () => {
  const few = assignColors(names(5), new Map());
  const many = assignColors(names(COLOR_COUNT), few);
  for (const name of names(5)) expect(many.get(name)).toBe(few.get(name));
  expect(assignColors(["run-3"], many).get("run-3")).toBe(few.get("run-3"));
});

test("twenty runs that are drawn together have twenty colors, whatever else there is", () => {
  const before = new Map(names(500).map((name, i) => [name, i % 3]));
  const drawn = names(500).slice(137, 137 + COLOR_COUNT);
  expect(new Set(assignColors(drawn, before).values()).size).toBe(COLOR_COUNT);
});

test("a few runs have the colors that are the farthest apart", () => {
  const indexes = [...assignColors(names(DISTINCT_COUNT), new Map()).values()];
  expect(indexes.toSorted((a, b) => a - b)).toEqual(names(DISTINCT_COUNT).map((_, i) => i));
});

test("more runs than colors share them evenly", () => {
  const counts = new Array<number>(COLOR_COUNT).fill(0);
  for (const index of assignColors(names(50), new Map()).values()) counts[index]! += 1;
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
});

describe("the colors of each theme", () => {
  test.each([0, 1])("are visible on its cards", (i) => {
    expect(palettes[i]).toHaveLength(COLOR_COUNT);
    for (const color of palettes[i]!) expect(contrast(color, cards[i]!)).toBeGreaterThan(3);
  });

  // Two colors are barely different at a distance of 0.02 in OKLab.
  test.each([0, 1])("are far apart, also for color-blind people", (i) => {
    for (const [kind, matrix] of Object.entries(VISION)) {
      const seen = palettes[i]!.map((color) =>
        oklab(multiply(matrix, linear(color)).map((v) => Math.min(1, Math.max(0, v)))),
      );
      for (const [a, first] of seen.entries()) {
        for (const second of seen.slice(a + 1)) {
          const distance = Math.hypot(...first.map((v, k) => v - second[k]!));
          expect(distance, `${kind}: ${palettes[i]![a]}`).toBeGreaterThan(0.04);
          if (seen.indexOf(second) >= DISTINCT_COUNT) continue;
          expect(distance, `${kind}: ${palettes[i]![a]}`).toBeGreaterThan(kind === "usual" ? 0.12 : 0.07);
        }
      }
    }
  });
});

/** How the eye mixes linear red, green and blue: Machado, Oliveira and Fernandes 2009, at full severity. */
const VISION: Record<string, number[][]> = {
  usual: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function multiply(matrix: number[][], vector: number[]): number[] {
  return matrix.map((row) => row.reduce((sum, factor, i) => sum + factor * vector[i]!, 0));
}

function linear(hex: string): number[] {
  return [1, 3, 5].map((i) => {
    const value = parseInt(hex.slice(i, i + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
}

function oklab(rgb: number[]): number[] {
  const cone = multiply(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    rgb,
  ).map(Math.cbrt);
  return multiply(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    cone,
  );
}
