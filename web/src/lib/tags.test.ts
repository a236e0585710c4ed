import { expect, test } from "vitest";
import { patternOf } from "./pattern";
import { groupTags, isSystemTag, naturally, prefixOf } from "./tags";

test("tags stand in groups by prefix, machine last, bare ones first", () => {
  expect(groupTags(["gpu/0/util", "train/loss", "layer10", "layer2", "train/acc"])).toEqual([
    { name: "", tags: ["layer2", "layer10"] },
    { name: "train", tags: ["train/acc", "train/loss"] },
    { name: "gpu", tags: ["gpu/0/util"] },
  ]);
  expect(prefixOf("/odd")).toBe("/odd");
});

test("tags of the machine are known by their names", () => {
  expect(["gpu/0/utilization", "perf/mfu", "train/tokens_per_sec", "system/cpu", "pulseboard/overhead"].every(isSystemTag)).toBe(true);
  expect(["train/loss", "val/perplexity", "timeline"].some(isSystemTag)).toBe(false);
});

test("a broken expression says what is wrong and filters nothing", () => {
  const pattern = patternOf("(unclosed");
  expect(pattern.error).toMatch(/Not a regular expression/);
  expect(pattern.fits("anything")).toBe(true);
  expect(patternOf("loss\\-a").fits("loss-a")).toBe(true);
});

test("numbers in names are in order of size, decimals too", () => {
  expect(["lr0.001-s1", "lr0.0003-s10", "lr0.0003-s9", "lr0.1"].sort(naturally)).toEqual(["lr0.0003-s9", "lr0.0003-s10", "lr0.001-s1", "lr0.1"]);
  expect(["v1.10", "v1.9", "1.2.10", "1.2.9"].sort(naturally)).toEqual(["1.2.9", "1.2.10", "v1.9", "v1.10"]);
  expect(["run.b", "run.a", "Run.a"].sort(naturally)).toEqual(["Run.a", "run.a", "run.b"]);
});
