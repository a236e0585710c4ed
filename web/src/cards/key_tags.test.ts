import { expect, test } from "vitest";
import { keyTags, tagsByImportance } from "./key_tags";

test("validation comes before training, and training before the machine", () => {
  const tags = ["perf/mfu", "train/loss", "val/loss"].map((tag) => ({ tag, runs: 3 }));
  expect(keyTags(tags, 2)).toEqual(["val/loss", "train/loss"]);
});

test("tags of few runs are not shown first, but they are in the list of all", () => {
  const tags = [
    { tag: "own", runs: 1 },
    { tag: "loss", runs: 5 },
  ];
  expect(keyTags(tags, 5)).toEqual(["loss"]);
  expect(tagsByImportance(tags)).toEqual(["loss", "own"]);
});
