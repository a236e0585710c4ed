import { expect, test } from "vitest";
import { find, fitOf } from "./find";
import { tellingTags } from "./metrics";
import { moduleTree, sizeOf, tagsAbout } from "./modules";
import { numberOf } from "./numbers";
import { smoothingAt } from "./smoothing";
import { indexAtStep } from "./step_index";

const node = (name: string, more = {}) => ({ name, op: "op", kind: "operation" as const, inputs: [], device: "", shape: null, attrs: {}, ...more });

test("nodes become a tree, and folders add up what lies below", () => {
  const tree = moduleTree([node("net/fc1/weight", { shape: "[5, 2]" }), node("net/fc1/bias", { shape: "[2]" }), node("net/out", { shape: "[7]" })]);
  expect(tree.children.map((child) => [child.name, child.operations, child.parameters])).toEqual([["net", 3, 12]]);
  expect(tree.children[0]!.children.map((child) => child.path)).toEqual(["net/fc1", "net/out"]);
});

test("a shape says how many numbers it holds, if it is whole", () => {
  expect([sizeOf("[64, 3, 7, 7]"), sizeOf("(4,)"), sizeOf("[(8, 4)]"), sizeOf("[?, 3]"), sizeOf(null)]).toEqual([9408, 4, 32, null, null]);
});

test("tags about a module are found whatever joins the words", () => {
  expect(tagsAbout("net/fc1", ["grad_norm/net.fc1", "weights/net/fc10", "x"])).toEqual(["grad_norm/net.fc1"]);
});

test("a few letters find what is meant", () => {
  expect(find("tl", ["val/loss", "train/loss"], (text) => text, 5)[0]).toBe("train/loss");
  expect(fitOf("xyz", "train/loss")).toBeNull();
});

test("validation tells more than training, and training more than the machine", () => {
  const tags = ["perf/mfu", "train/loss", "val/loss"].map((tag) => ({ tag, runs: 3 }));
  expect(tellingTags(tags, 2)).toEqual(["val/loss", "train/loss"]);
});

test("numbers that JSON cannot carry come as words", () => {
  expect([numberOf(1), numberOf("nan"), numberOf("-inf"), numberOf("x")]).toEqual([1, NaN, -Infinity, null]);
});

test("one slider serves smoothers that count differently", () => {
  expect(smoothingAt("debiased", 0)).toBeNull();
  expect(smoothingAt("debiased", 0.6)).toEqual({ kind: "debiased", weight: 0.6 });
  expect(smoothingAt("running-mean", 0.9)).toEqual({ kind: "running-mean", weight: 10 });
  expect(smoothingAt("gaussian", 0.9)).toEqual({ kind: "gaussian", weight: 5 });
});

test("the newest picture at or before a step is shown", () => {
  expect([indexAtStep([0, 10, 20], 15), indexAtStep([5, 10], 1)]).toEqual([1, 0]);
});
