import { expect, test } from "vitest";
import { firstTags, groupTags, isSystemTag, rowsOfGroups } from "./tag_groups";

test("tags are grouped by prefix: without prefix first, about the machine last", () => {
  expect(groupTags(["gpu/0/util", "train/loss", "layer10", "layer2", "train/acc"])).toEqual([
    { name: "", tags: ["layer2", "layer10"] },
    { name: "train", tags: ["train/acc", "train/loss"] },
    { name: "gpu", tags: ["gpu/0/util"] },
  ]);
  expect(groupTags(["/odd"])).toEqual([{ name: "", tags: ["/odd"] }]);
});

test("neighboring groups of one card share a row", () => {
  const groups = groupTags(["a/x", "b/x", "c/x", "c/y", "d/x"]);
  expect(rowsOfGroups(groups).map((row) => row.map((group) => group.name))).toEqual([["a", "b"], ["c"], ["d"]]);
});

test("tags about the machine are recognized by name", () => {
  expect(
    ["gpu/0/utilization", "perf/mfu", "train/tokens_per_sec", "system/cpu", "pulseboard/overhead"].every(isSystemTag),
  ).toBe(true);
  expect(["train/loss", "val/perplexity", "timeline"].some(isSystemTag)).toBe(false);
});

test("the first tags of all groups, and no group without one", () => {
  const groups = [
    { name: "a", tags: ["a/1", "a/2"] },
    { name: "b", tags: ["b/1", "b/2"] },
    { name: "c", tags: ["c/1"] },
  ];
  expect([...firstTags(groups, 3)]).toEqual([
    ["a", 2],
    ["b", 1],
  ]);
});
