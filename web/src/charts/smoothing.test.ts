import { expect, test } from "vitest";
import { smoothingAt } from "./smoothing";

test("one slider serves smoothers with different parameters", () => {
  expect(smoothingAt("debiased", 0)).toBeNull();
  expect(smoothingAt("debiased", 0.6)).toEqual({ kind: "debiased", weight: 0.6 });
  expect(smoothingAt("running-mean", 0.9)).toEqual({ kind: "running-mean", weight: 10 });
  expect(smoothingAt("gaussian", 0.9)).toEqual({ kind: "gaussian", weight: 5 });
});
