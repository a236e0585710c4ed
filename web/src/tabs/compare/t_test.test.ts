import { expect, test } from "vitest";
import { incompleteBeta, welchTest } from "./t_test";

test("Welch's p value is the same as SciPy's", () => {
  // scipy.stats.ttest_ind(..., equal_var=False) gives these.
  expect(welchTest([1, 2, 3, 4], [3, 4, 5, 7])).toBeCloseTo(0.083706964704, 9);
  expect(welchTest([1.0, 1.1, 0.9], [1.2, 1.4, 1.15])).toBeCloseTo(0.063811151616, 9);
  expect(incompleteBeta(2, 3, 0.4)).toBeCloseTo(0.5248, 6);
});
