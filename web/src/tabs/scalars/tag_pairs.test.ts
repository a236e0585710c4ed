import { expect, test } from "vitest";
import { trainValidationPairs } from "./tag_pairs";

test("a training tag is paired with its validation tag", () => {
  expect(trainValidationPairs(["train/loss", "val/loss", "Train/acc", "Test/acc", "trainer/lr", "valer/lr"])).toEqual([
    ["train/loss", "val/loss"],
    ["Train/acc", "Test/acc"],
  ]);
});
