import { describe, expect, test } from "vitest";
import { bucketAt, layOutRidges } from "./ridges";

const histograms = {
  steps: [0, 100],
  wall_times: [1000, 1010],
  lefts: [
    [0, 1, 2],
    [0, 1, 2],
  ],
  rights: [
    [1, 2, 3],
    [1, 2, 3],
  ],
  counts: [
    [0, 4, 0],
    [1, 8, 1],
  ],
};
const box = { left: 0, top: 0, width: 300, height: 100 };

describe("ridges", () => {
  test("the newest ridge is at the bottom, the oldest above it", () => {
    const { rows } = layOutRidges(histograms, box, "offset", "step");
    expect(rows.map((row) => row.baseline)).toEqual([35, 100]);
  });

  test("overlaid ridges share one baseline", () => {
    const { rows } = layOutRidges(histograms, box, "overlay", "step");
    expect(rows.map((row) => row.baseline)).toEqual([100, 100]);
  });

  test("the bucket under the pointer is found", () => {
    const laid = layOutRidges(histograms, box, "offset", "step");
    expect(bucketAt(laid, histograms, 150, 98)).toMatchObject({ ridge: { step: 100 }, bucket: 1 });
    expect(bucketAt(laid, histograms, 150, 30)).toMatchObject({ ridge: { step: 0 }, bucket: 1 });
  });

  test("a constant is a peak in the middle, and neither blank nor at the edge", () => {
    const constant = { steps: [0], wall_times: [0], lefts: [[3]], rights: [[3]], counts: [[100]] };
    const { rows, valueRange } = layOutRidges(constant, box, "offset", "step");
    expect(valueRange[0]).toBeLessThan(3);
    expect(valueRange[1]).toBeGreaterThan(3);
    expect(rows[0]!.points.map(([x, y]) => [Math.round(x), Math.round(y)])).toEqual([
      [147, 100],
      [150, 65],
      [153, 100],
    ]);
  });

  test("a single full bucket is a peak between empty ones", () => {
    const buckets = { lefts: [[-1, 0, 1, 2]], rights: [[0, 1, 2, 3]], counts: [[0, 9, 0, 0]] };
    const { rows } = layOutRidges({ steps: [0], wall_times: [0], ...buckets }, box, "offset", "step");
    expect(rows[0]!.points.map(([x, y]) => [Math.round(x), Math.round(y)])).toEqual([
      [50, 100],
      [150, 65],
      [250, 100],
    ]);
  });

  test("no histograms give no ridges", () => {
    const none = { steps: [], wall_times: [], lefts: [], rights: [], counts: [] };
    expect(layOutRidges(none, box, "offset", "step").rows).toEqual([]);
  });
});
