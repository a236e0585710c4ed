import { expect, test } from "vitest";
import { find, fitOf } from "./find";
import { tellingTags } from "./metrics";
import { leftOut, modelTree, moduleTree, sizeOf, tagsAbout, tagsFor } from "./modules";
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

const weight = (name: string, shape: number[] | null, more = {}) => ({ name, shape, dtype: "float32", trained: true, count: shape?.reduce((a, b) => a * b, 1) ?? 0, tied_to: null, ...more });
const model = {
  parameters: 30,
  trained_parameters: 25,
  left_out_modules: 0,
  left_out_parameters: 0,
  modules: [
    { path: "", kind: "Net", parameters: [] },
    { path: "blocks", kind: "ModuleList", parameters: [] },
    { path: "blocks.0", kind: "Linear", parameters: [weight("weight", [4, 5]), weight("bias", [5], { trained: false })] },
    { path: "out", kind: "Linear", parameters: [weight("weight", [5, 4], { tied_to: "blocks.0.weight", count: 0 }), weight("bias", [5])] },
  ],
};

test("a model is a tree below its class, with its parameters as leaves", () => {
  const [net] = modelTree([model]).children;
  expect([net!.name, net!.parameters, net!.trained]).toEqual(["Net", 30, 25]);
  expect(net!.children.map((child) => [child.name, child.op, child.parameters, child.trained])).toEqual([["blocks", "ModuleList", 25, 20], ["out", "Linear", 5, 5]]);
  const leaves = net!.children[0]!.children[0]!.children;
  expect(leaves.map((leaf) => [leaf.path, leaf.op, leaf.shape])).toEqual([["blocks.0.weight", "float32", "[4, 5]"], ["blocks.0.bias", "float32, frozen", "[5]"]]);
  expect(net!.children[1]!.children[0]!.op).toBe("float32, tied to blocks.0.weight");
});

test("two models of a run stand side by side, and no two modules have one key", () => {
  const tree = modelTree([model, model]);
  const keys = (module: typeof tree): string[] => [module.key, ...module.children.flatMap(keys)];
  expect(tree.children.length).toBe(2);
  expect(new Set(keys(tree)).size).toBe(keys(tree).length);
});

test("what was left out is said, and nothing where all is listed", () => {
  expect(leftOut([model])).toBeNull();
  expect(leftOut([{ ...model, left_out_modules: 12, left_out_parameters: 1 }])).toBe("12 modules and 1 parameter more than are listed; the model's count has them");
});

test("what watch logs of a module is found, be its name a single digit", () => {
  const tags = ["train/gradient_flow/0_norm", "train/gradient_flow/10_norm", "train/update_ratio/0", "train/update_ratio", "train/gradient_flow/global_norm"];
  const sequence = { ...model, modules: [{ path: "", kind: "Sequential", parameters: [] }, { path: "0", kind: "Linear", parameters: [] }] };
  const [top] = modelTree([sequence]).children;
  expect(tagsFor(top!.children[0]!, tags)).toEqual(["train/gradient_flow/0_norm", "train/update_ratio/0"]);
  expect(tagsFor(top!, tags)).toEqual(["train/gradient_flow/global_norm", "train/update_ratio"]);
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
