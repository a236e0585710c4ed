import { expect, test } from "vitest";
import { commonPrefix } from "./run_name";

test("the common prefix ends at a slash", () => {
  expect(commonPrefix(["exp/7/base-a", "exp/7/base-b"])).toBe("exp/7/");
  expect(commonPrefix(["exp/7/a", "exp/8/a", "exp/7/b"])).toBe("exp/");
});

test("one run, and runs that share no folder, keep their names", () => {
  expect(commonPrefix(["exp/7/a"])).toBe("");
  expect(commonPrefix([])).toBe("");
  expect(commonPrefix(["base-a", "base-b"])).toBe("");
  expect(commonPrefix(["exp", "exp/a"])).toBe("");
});
