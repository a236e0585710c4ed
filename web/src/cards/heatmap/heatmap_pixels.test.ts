import { expect, test } from "vitest";
import type { Heatmap } from "../../api/columns";
import { heatScale, paintHeatmap, rowsOfLine } from "./heatmap_pixels";

const COLORS = { colors: ["#000000", "#ffffff"], critical: "#ff0000" };
const heatmap = (rows: number[][]): Heatmap => ({
  run: "r",
  family: "layer_{i}",
  members: rows.map((_, i) => String(i)),
  span: [0, 1],
  x: Float64Array.from(rows[0]!.map((_, i) => i)),
  values: Float64Array.from(rows.flat()),
});
const paint = (rows: number[][], height = rows.length) => {
  const map = heatmap(rows);
  const { data } = paintHeatmap(map, heatScale(map)!, height, COLORS);
  return Array.from({ length: data.length / 4 }, (_, i) => [...data.subarray(4 * i, 4 * i + 4)]);
};

test("the smallest value has the first color and the largest the last; nothing logged is transparent", () => {
  expect(
    paint([
      [1, 2],
      [3, NaN],
    ]),
  ).toEqual([
    [0, 0, 0, 255],
    [128, 128, 128, 255],
    [255, 255, 255, 255],
    [0, 0, 0, 0],
  ]);
});

test("values over several powers of ten are on a logarithmic scale, with zeros at its low end", () => {
  expect(heatScale(heatmap([[0, 0.001, 0.1]]))).toEqual({ low: -3, high: -1, log: true });
  expect(paint([[0, 0.001, 0.01, 0.1]]).map((pixel) => pixel[0])).toEqual([0, 0, 128, 255]);
  expect(heatScale(heatmap([[-1, 100]]))!.log).toBe(false);
  expect(heatScale(heatmap([[NaN]]))).toBeNull();
});

test("a value that is not finite is seen, however many rows share its line", () => {
  const rows = Array.from({ length: 100 }, (_, i) => [i === 37 ? Infinity : i]);
  expect(paint(rows, 1)).toEqual([[255, 0, 0, 255]]);
});

test("every row is on exactly one line", () => {
  const lines = Array.from({ length: 7 }, (_, line) => rowsOfLine(line, 7, 100));
  expect(lines[0]![0]).toBe(0);
  expect(lines[6]![1]).toBe(100);
  for (let i = 1; i < 7; i++) expect(lines[i]![0]).toBe(lines[i - 1]![1]);
});
