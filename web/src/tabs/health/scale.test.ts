import { expect, test } from "vitest";
import { makeCurve } from "../../api/columns";
import { needsLogY } from "./scale";

const curve = (values: number[]) =>
  makeCurve(
    "run",
    "tag",
    values.map((_, i) => i),
    values,
  );

test("a run that explodes is drawn on a logarithmic axis", () => {
  expect(needsLogY(curve([1, 2, 1, 2, 1e4]))).toBe(true);
  expect(needsLogY(curve([1, 2, 1, NaN, 1e4]))).toBe(true);
});

test("an ordinary curve is drawn on a linear one, and so is one with values that are not positive", () => {
  expect(needsLogY(curve([3, 2, 1, 0.5]))).toBe(false);
  expect(needsLogY(curve([1, 0, 1, 2, 1e4]))).toBe(false);
  expect(needsLogY(curve([NaN, NaN]))).toBe(false);
  expect(needsLogY(curve([]))).toBe(false);
});
