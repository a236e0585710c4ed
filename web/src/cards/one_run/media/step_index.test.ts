import { expect, test } from "vitest";
import { indexAtStep } from "./step_index";

test("the newest item at or before a step is found", () => {
  expect([indexAtStep([0, 10, 20], 15), indexAtStep([5, 10], 1)]).toEqual([1, 0]);
});
