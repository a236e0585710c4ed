import { describe, expect, test } from "vitest";
import { makeCurve } from "../../api/columns";
import {
  countOutside,
  fullXRange,
  limitRange,
  panRange,
  valueAt,
  withMargin,
  xRange,
  yRange,
  zoomRange,
} from "./range";

const plain = { log: false, ignoreOutliers: false, orphans: false };

describe("ranges of axes", () => {
  test("x covers all curves", () => {
    expect(xRange([makeCurve("a", "t", [0, 5], [1, 1]), makeCurve("b", "t", [3, 9], [1, 1])])).toEqual([0, 9]);
    expect(xRange([])).toBeNull();
  });

  test("a single x gets a range around it", () => {
    const [from, to] = xRange([makeCurve("a", "t", [100], [1])])!;
    expect(from).toBeLessThan(100);
    expect(to).toBeGreaterThan(100);
  });

  test("a logarithmic x leaves out step 0", () => {
    expect(xRange([makeCurve("a", "t", [0, 1, 100], [1, 1, 1])], true)).toEqual([1, 100]);
  });

  test("y covers only the points within the range of x", () => {
    const curve = makeCurve("a", "t", [0, 1, 2], [1000, 1, 3]);
    expect(yRange([curve], [1, 2], plain)).toEqual([0.9, 3.1]);
  });

  test("NaN and infinities do not affect y", () => {
    const curve = makeCurve("a", "t", [0, 1, 2], [NaN, 1, Infinity]);
    expect(yRange([curve], [0, 2], plain)).toEqual([0.9, 1.1]);
    expect(yRange([makeCurve("a", "t", [0], [NaN])], [0, 1], plain)).toBeNull();
  });

  test("outliers are left out on request", () => {
    const values = Array.from({ length: 100 }, (_, i) => i / 100);
    values[50] = 1e9;
    const curve = makeCurve(
      "a",
      "t",
      values.map((_, i) => i),
      values,
    );
    expect(yRange([curve], [0, 100], plain)![1]).toBeGreaterThan(1e9);
    const range = yRange([curve], [0, 100], { ...plain, ignoreOutliers: true })!;
    expect(range[1]).toBeLessThan(2);
    expect(countOutside([curve], [0, 100], range, plain)).toBe(1);
  });

  test("zero and less are not outliers of a logarithmic axis", () => {
    const curve = makeCurve("a", "t", [0, 1, 2], [-5, 1, 10]);
    const log = { ...plain, log: true, ignoreOutliers: true };
    expect(countOutside([curve], [0, 2], yRange([curve], [0, 2], log)!, log)).toBe(0);
  });

  test("a start that is merely higher than the rest is not an outlier", () => {
    const values = Array.from({ length: 1000 }, (_, i) => 0.3 + 10 * Math.exp(-i / 100));
    const curve = makeCurve(
      "a",
      "t",
      values.map((_, i) => i),
      values,
    );
    expect(yRange([curve], [0, 999], { ...plain, ignoreOutliers: true })![1]).toBeGreaterThan(10);
  });

  test("between two points, y covers the line that connects them", () => {
    const curve = makeCurve("a", "t", [0, 10], [0, 100]);
    expect(yRange([curve], [2, 4], plain)).toEqual([19, 41]);
  });

  test("one point at a wall time has a range of a minute around it", () => {
    expect(xRange([makeCurve("a", "t", [1.7e9], [1])], false, "wall")).toEqual([1.7e9 - 30, 1.7e9 + 30]);
  });

  test("zooming out ends at the full range, and panning at its ends", () => {
    const full: [number, number] = [0, 100];
    expect(limitRange([-50, 150], full)).toBeNull();
    expect(limitRange([-20, 30], full)).toEqual([0, 50]);
    expect(limitRange([80, 120], full)).toEqual([60, 100]);
    expect(limitRange([20, 30], full)).toEqual([20, 30]);
    expect(fullXRange([{ ...makeCurve("a", "t", [3], [1]), extent: [0, 9] }], false)).toEqual([0, 9]);
  });

  test("a logarithmic y leaves out values below zero", () => {
    const [from] = yRange([makeCurve("a", "t", [0, 1, 2], [-5, 0.1, 10])], [0, 2], { ...plain, log: true })!;
    expect(from).toBeGreaterThan(0);
  });

  test("zooming keeps the value under the pointer in place", () => {
    expect(valueAt([0, 100], 0.25)).toBe(25);
    expect(valueAt([1, 100], 0.5, true)).toBeCloseTo(10);
    expect(zoomRange([0, 100], 25, 0.5)).toEqual([12.5, 62.5]);
    const [a, b] = zoomRange([1, 100], 10, 0.5, true);
    expect(Math.sqrt(a * b)).toBeCloseTo(10);
  });

  test("panning moves by a fraction of the width", () => {
    expect(panRange([0, 100], 0.1)).toEqual([10, 110]);
    expect(panRange([1, 100], 0.5, true)[0]).toBeCloseTo(10);
  });

  test("a flat curve gets a margin", () => {
    expect(withMargin([2, 2], false)).toEqual([1.8, 2.2]);
    expect(withMargin([0, 0], false)).toEqual([-1, 1]);
  });
});
