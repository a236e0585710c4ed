// A model as a tree of modules: those that a training told of, or a graph with its names cut at their slashes.

import type { GraphNode, Model, Parameter } from "./api";
import { plural } from "./format";

export interface Module {
  /** No two of a tree have the same. */
  key: string;
  name: string;
  path: string;
  /** Of a graph, of a model that a training told of, or one of its parameters. */
  from: "graph" | "model" | "parameter";
  op: string | null;
  /** Operations at or below here. */
  operations: number;
  parameters: number;
  /** Those of them that are trained; a graph does not say. */
  trained: number;
  shape: string | null;
  inputs: string[];
  attributes: Record<string, unknown>;
  children: Module[];
}

/** The tree of a graph's nodes. Folders add up what lies below them. */
export function moduleTree(nodes: GraphNode[]): Module {
  const root = moduleOf("", "");
  const known = new Map<string, Module>([["", root]]);
  const folder = (path: string): Module => {
    const found = known.get(path);
    if (found) return found;
    const slash = path.lastIndexOf("/");
    const made = moduleOf(path.slice(slash + 1), path);
    known.set(path, made);
    folder(slash < 0 ? "" : path.slice(0, slash)).children.push(made);
    return made;
  };
  for (const node of nodes) {
    const module = folder(node.name);
    module.op = node.op || null;
    module.shape = node.shape;
    module.inputs = node.inputs.map((input) => input.replace(/^\^/, "").replace(/:\d+$/, ""));
    module.attributes = node.attrs;
    // A log has shapes and no counts; what is a parameter shows by its name or its operation.
    module.parameters = /param|variable|weight|bias/i.test(`${node.op} ${module.name}`) ? (sizeOf(node.shape) ?? 0) : 0;
    module.operations = 1;
  }
  addUp(root);
  return root;
}

/** The trees of the models that a run told of, each below its class; parameters are the leaves. */
export function modelTree(models: Model[]): Module {
  const root = moduleOf("", "");
  models.forEach((model, index) => root.children.push(treeOf(model, `${index}:`)));
  return root;
}

function treeOf(model: Model, prefix: string): Module {
  const known = new Map<string, Module>();
  const place = (path: string): Module => {
    const found = known.get(path);
    if (found) return found;
    const dot = path.lastIndexOf(".");
    const made: Module = { ...moduleOf(path.slice(dot + 1), path), key: prefix + path, from: "model" };
    known.set(path, made);
    if (path !== "") place(dot < 0 ? "" : path.slice(0, dot)).children.push(made);
    return made;
  };
  const top = place("");
  for (const told of model.modules) {
    const module = place(told.path);
    if (told.path === "") module.name = told.kind;
    else module.op = told.kind;
    module.children.push(...told.parameters.map((parameter) => leafOf(parameter, module, prefix)));
    if (told.parameters.length === 1) module.shape = shapeOf(told.parameters[0]!);
    module.operations = 1;
  }
  addUp(top);
  // The counts are of the whole model, of what was left out too.
  top.parameters = model.parameters;
  top.trained = model.trained_parameters;
  return top;
}

function leafOf(parameter: Parameter, module: Module, prefix: string): Module {
  const path = module.path === "" ? parameter.name : `${module.path}.${parameter.name}`;
  return {
    ...moduleOf(parameter.name, path),
    key: `${prefix}${path} (parameter)`,
    from: "parameter",
    op: [parameter.dtype, parameter.tied_to ? `tied to ${parameter.tied_to}` : "", parameter.trained ? "" : "frozen"].filter(Boolean).join(", "),
    parameters: parameter.count,
    trained: parameter.trained ? parameter.count : 0,
    shape: shapeOf(parameter),
  };
}

function shapeOf(parameter: Parameter): string | null {
  return parameter.shape === null ? null : `[${parameter.shape.join(", ")}]`;
}

/** What a run's models left out of their lists, as a sentence; null where they list everything. */
export function leftOut(models: Model[]): string | null {
  const modules = models.reduce((sum, model) => sum + model.left_out_modules, 0);
  const parameters = models.reduce((sum, model) => sum + model.left_out_parameters, 0);
  const said = [modules > 0 ? plural(modules, "module") : "", parameters > 0 ? plural(parameters, "parameter") : ""].filter(Boolean);
  return said.length > 0 ? `${said.join(" and ")} more than are listed; the model's count has them` : null;
}

/** Where `pb.watch` logs the health of a module. */
export function healthTags(path: string): { gradient: string; update: string } {
  return path === ""
    ? { gradient: "train/gradient_flow/global_norm", update: "train/update_ratio" }
    : { gradient: `train/gradient_flow/${path}_norm`, update: `train/update_ratio/${path}` };
}

/** Tags that speak of a module: what watch logs of it first. */
export function tagsFor(module: Module, tags: string[]): string[] {
  if (module.from === "parameter") return [];
  if (module.from === "graph") return tagsAbout(module.path, tags);
  const known = Object.values(healthTags(module.path)).filter((tag) => tags.includes(tag));
  return [...new Set([...known, ...tagsAbout(module.path, tags)])];
}

function moduleOf(name: string, path: string): Module {
  return { key: path, name, path, from: "graph", op: null, operations: 0, parameters: 0, trained: 0, shape: null, inputs: [], attributes: {}, children: [] };
}

function addUp(module: Module): void {
  for (const child of module.children) {
    addUp(child);
    module.operations += child.operations;
    module.parameters += child.parameters;
    module.trained += child.trained;
  }
}

/** How many numbers a shape such as `[64, 3, 7, 7]`, `(64, 3)` or `[(64, 3)]` holds; null where it is not fully known. */
export function sizeOf(shape: string | null): number | null {
  const match = shape?.match(/^[[(]{1,2}([\d,\s]+)[\])]{1,2}$/);
  if (!match) return null;
  return match[1]!
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean)
    .reduce((size, part) => size * Number(part), 1);
}

/** Tags that speak of a module: those with its path among their words, whatever joins them. */
export function tagsAbout(path: string, tags: string[]): string[] {
  const plain = (text: string) => `.${text.toLowerCase().replace(/[^a-z0-9]+/g, ".")}.`;
  const wanted = plain(path.replace(/[[\]]/g, "."));
  if (wanted.length < 4) return [];
  return tags.filter((tag) => plain(tag).includes(wanted));
}
