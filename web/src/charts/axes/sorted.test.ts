import { expect, test } from "vitest";
import { lowerBound, nearestIndex, visibleIndexes } from "./sorted";

test("the first index at or above a value is found", () => {
  expect(lowerBound([0, 10, 20], 10)).toBe(1);
  expect(lowerBound([], 10)).toBe(0);
});

test("the nearest index is found, ties to the left", () => {
  const x = [0, 10, 20];
  expect([nearestIndex(x, 4), nearestIndex(x, 5), nearestIndex(x, 99), nearestIndex([], 1)]).toEqual([0, 0, 2, -1]);
});

test("visible indexes include one neighbor on each side", () => {
  expect(visibleIndexes([0, 10, 20, 30, 40], 15, 25)).toEqual([1, 4]);
});
