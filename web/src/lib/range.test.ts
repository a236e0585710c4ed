import { describe, expect, test } from "vitest";
import { curveOf } from "./columns";
import { greatestOf, leastOf, padded, panned, valueAt, xRange, yRange, zoomed } from "./range";

const plain = { log: false, ignoreOutliers: false, orphans: false, smoothed: false };

describe("ranges of axes", () => {
  test("x goes over all curves", () => {
    expect(xRange([curveOf("a", "t", [0, 5], [1, 1]), curveOf("b", "t", [3, 9], [1, 1])])).toEqual([0, 9]);
    expect(xRange([])).toBeNull();
  });

  test("a single x opens up, so that its point is in the middle", () => {
    const [from, to] = xRange([curveOf("a", "t", [100], [1])])!;
    expect(from).toBeLessThan(100);
    expect(to).toBeGreaterThan(100);
  });

  test("a logarithmic x leaves out step 0", () => {
    expect(xRange([curveOf("a", "t", [0, 1, 100], [1, 1, 1])], true)).toEqual([1, 100]);
  });

  test("y covers only what lies between the two x", () => {
    const curve = curveOf("a", "t", [0, 1, 2], [1000, 1, 3]);
    expect(yRange([curve], [1, 2], plain)).toEqual([0.9, 3.1]);
  });

  test("NaN and infinities do not move y", () => {
    const curve = curveOf("a", "t", [0, 1, 2], [NaN, 1, Infinity]);
    expect(yRange([curve], [0, 2], plain)).toEqual([0.9, 1.1]);
    expect(yRange([curveOf("a", "t", [0], [NaN])], [0, 1], plain)).toBeNull();
  });

  test("outliers are cut when asked", () => {
    const values = Array.from({ length: 100 }, (_, i) => i / 100);
    values[50] = 1e9;
    const curve = curveOf("a", "t", values.map((_, i) => i), values);
    expect(yRange([curve], [0, 100], plain)![1]).toBeGreaterThan(1e9);
    expect(yRange([curve], [0, 100], { ...plain, ignoreOutliers: true })![1]).toBeLessThan(2);
  });

  test("a logarithmic y takes no part below zero", () => {
    const [from] = yRange([curveOf("a", "t", [0, 1, 2], [-5, 0.1, 10])], [0, 2], { ...plain, log: true })!;
    expect(from).toBeGreaterThan(0);
  });

  test("zooming keeps the place under the pointer", () => {
    expect(valueAt([0, 100], 0.25)).toBe(25);
    expect(valueAt([1, 100], 0.5, true)).toBeCloseTo(10);
    expect(zoomed([0, 100], 25, 0.5)).toEqual([12.5, 62.5]);
    const [a, b] = zoomed([1, 100], 10, 0.5, true);
    expect(Math.sqrt(a * b)).toBeCloseTo(10);
  });

  test("panning moves by a share of the width", () => {
    expect(panned([0, 100], 0.1)).toEqual([10, 110]);
    expect(panned([1, 100], 0.5, true)[0]).toBeCloseTo(10);
  });

  test("a flat curve gets air", () => {
    expect(padded([2, 2], false)).toEqual([1.8, 2.2]);
    expect(padded([0, 0], false)).toEqual([-1, 1]);
  });

  test("extremes pass over what is not finite", () => {
    expect(leastOf(Float64Array.of(NaN, 3, -Infinity, 2))).toBe(2);
    expect(greatestOf(Float64Array.of(NaN))).toBeNaN();
  });
});
