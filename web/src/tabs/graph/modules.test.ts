import { expect, test } from "vitest";
import { elementCount, graphTree, modelTree, omittedText, tagsOfModule, tagsWithPath } from "./modules";

const node = (name: string, more = {}) => ({
  name,
  op: "op",
  kind: "operation" as const,
  inputs: [],
  device: "",
  shape: null,
  attrs: {},
  ...more,
});

test("nodes become a tree, and folders sum up what is below them", () => {
  const tree = graphTree([
    node("net/fc1/weight", { shape: "[5, 2]" }),
    node("net/fc1/bias", { shape: "[2]" }),
    node("net/out", { shape: "[7]" }),
  ]);
  expect(tree.children.map((child) => [child.name, child.operations, child.parameters])).toEqual([["net", 3, 12]]);
  expect(tree.children[0]!.children.map((child) => child.path)).toEqual(["net/fc1", "net/out"]);
});

test("elements of a shape are counted if all dimensions are known", () => {
  expect([
    elementCount("[64, 3, 7, 7]"),
    elementCount("(4,)"),
    elementCount("[(8, 4)]"),
    elementCount("[?, 3]"),
    elementCount(null),
  ]).toEqual([9408, 4, 32, null, null]);
});

test("tags with the path of a module are found with any separators", () => {
  expect(tagsWithPath("net/fc1", ["grad_norm/net.fc1", "weights/net/fc10", "x"])).toEqual(["grad_norm/net.fc1"]);
});

const weight = (name: string, shape: number[] | null, more = {}) => ({
  name,
  shape,
  dtype: "float32",
  trained: true,
  count: shape?.reduce((a, b) => a * b, 1) ?? 0,
  tied_to: null,
  ...more,
});
const model = {
  parameters: 30,
  trained_parameters: 25,
  left_out_modules: 0,
  left_out_parameters: 0,
  modules: [
    { path: "", kind: "Net", parameters: [] },
    { path: "blocks", kind: "ModuleList", parameters: [] },
    {
      path: "blocks.0",
      kind: "Linear",
      parameters: [weight("weight", [4, 5]), weight("bias", [5], { trained: false })],
    },
    {
      path: "out",
      kind: "Linear",
      parameters: [weight("weight", [5, 4], { tied_to: "blocks.0.weight", count: 0 }), weight("bias", [5])],
    },
  ],
};

test("a model is a tree below its class, with parameters as leaves", () => {
  const [net] = modelTree([model]).children;
  expect([net!.name, net!.parameters, net!.trained]).toEqual(["Net", 30, 25]);
  expect(net!.children.map((child) => [child.name, child.op, child.parameters, child.trained])).toEqual([
    ["blocks", "ModuleList", 25, 20],
    ["out", "Linear", 5, 5],
  ]);
  const leaves = net!.children[0]!.children[0]!.children;
  expect(leaves.map((leaf) => [leaf.path, leaf.op, leaf.shape])).toEqual([
    ["blocks.0.weight", "float32", "[4, 5]"],
    ["blocks.0.bias", "float32, frozen", "[5]"],
  ]);
  expect(net!.children[1]!.children[0]!.op).toBe("float32, tied to blocks.0.weight");
});

test("two models of a run are separate trees, and all keys are unique", () => {
  const tree = modelTree([model, model]);
  const keys = (module: typeof tree): string[] => [module.key, ...module.children.flatMap(keys)];
  expect(tree.children.length).toBe(2);
  expect(new Set(keys(tree)).size).toBe(keys(tree).length);
});

test("omitted modules and parameters are reported", () => {
  expect(omittedText([model])).toBeNull();
  expect(omittedText([{ ...model, left_out_modules: 12, left_out_parameters: 1 }])).toBe(
    "12 modules and 1 parameter not listed, but included in the total",
  );
});

test("tags logged by watch are found even if the module is named by a digit", () => {
  const tags = [
    "train/gradient_flow/0_norm",
    "train/gradient_flow/10_norm",
    "train/update_ratio/0",
    "train/update_ratio",
    "train/gradient_flow/global_norm",
  ];
  const sequence = {
    ...model,
    modules: [
      { path: "", kind: "Sequential", parameters: [] },
      { path: "0", kind: "Linear", parameters: [] },
    ],
  };
  const [top] = modelTree([sequence]).children;
  expect(tagsOfModule(top!.children[0]!, tags)).toEqual(["train/gradient_flow/0_norm", "train/update_ratio/0"]);
  expect(tagsOfModule(top!, tags)).toEqual(["train/gradient_flow/global_norm", "train/update_ratio"]);
});
