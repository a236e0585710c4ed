import { expect, test } from "vitest";
import { withoutCommonEnd } from "./common_end";

test("names that end with the same words lose them", () => {
  expect(withoutCommonEnd(["ppo_s2/progress.txt", "ppo_s12/progress.txt"])).toEqual(["ppo_s2/…", "ppo_s12/…"]);
  expect(withoutCommonEnd(["run-548-kd4v3b6n", "run-607-kd4v3b6n"])).toEqual(["run-548-…", "run-607-…"]);
});

test("names that end differently, a short ending and a part of a word stay", () => {
  for (const names of [
    ["a/train", "a/valid"],
    ["lr1/log", "lr2/log"],
    ["resnet18", "wideresnet18"],
    ["same-name", "same-name"],
  ])
    expect(withoutCommonEnd(names)).toBe(names);
  expect(withoutCommonEnd(["only/progress.txt"])).toEqual(["only/progress.txt"]);
});
