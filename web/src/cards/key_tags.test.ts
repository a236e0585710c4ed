import { expect, test } from "vitest";
import { keyTags } from "./key_tags";

test("validation comes before training, and training before the machine", () => {
  const tags = ["perf/mfu", "train/loss", "val/loss"].map((tag) => ({ tag, runs: 3 }));
  expect(keyTags(tags, 2)).toEqual(["val/loss", "train/loss"]);
});
