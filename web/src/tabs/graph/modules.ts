// A model as a tree of modules: the modules that pb.watch recorded, or a graph with names split at slashes.

import type { GraphNode, Model, Parameter } from "../../api/types";
import { plural } from "../../ui/text/format";

export interface Module {
  /** Unique within a tree. */
  key: string;
  name: string;
  path: string;
  /** A node of a graph, a module that pb.watch recorded, or a parameter of one. */
  from: "graph" | "model" | "parameter";
  op: string | null;
  /** Operations in this module and below. */
  operations: number;
  parameters: number;
  /** How many parameters are trained; 0 in a graph, which does not contain that. */
  trained: number;
  shape: string | null;
  inputs: string[];
  attributes: Record<string, unknown>;
  children: Module[];
}

/** The tree of a graph's nodes. Counts of folders include everything below them. */
export function graphTree(nodes: GraphNode[]): Module {
  const root = newModule("", "");
  const known = new Map<string, Module>([["", root]]);
  const folder = (path: string): Module => {
    const found = known.get(path);
    if (found) return found;
    const slash = path.lastIndexOf("/");
    const created = newModule(path.slice(slash + 1), path);
    known.set(path, created);
    folder(slash < 0 ? "" : path.slice(0, slash)).children.push(created);
    return created;
  };
  for (const node of nodes) {
    const module = folder(node.name);
    module.op = node.op || null;
    module.shape = node.shape;
    module.inputs = node.inputs.map((input) => input.replace(/^\^/, "").replace(/:\d+$/, ""));
    module.attributes = node.attrs;
    // Graphs contain shapes but no counts. Parameters are recognized by name or operation.
    module.parameters = /param|variable|weight|bias/i.test(`${node.op} ${module.name}`)
      ? (elementCount(node.shape) ?? 0)
      : 0;
    module.operations = 1;
  }
  addUp(root);
  return root;
}

/** The trees of the models that a run recorded. Each root is named after its class; parameters are the leaves. */
export function modelTree(models: Model[]): Module {
  const root = newModule("", "");
  models.forEach((model, index) => root.children.push(treeOfModel(model, `${index}:`)));
  return root;
}

function treeOfModel(model: Model, prefix: string): Module {
  const known = new Map<string, Module>();
  const moduleAt = (path: string): Module => {
    const found = known.get(path);
    if (found) return found;
    const dot = path.lastIndexOf(".");
    const created: Module = { ...newModule(path.slice(dot + 1), path), key: prefix + path, from: "model" };
    known.set(path, created);
    if (path !== "") moduleAt(dot < 0 ? "" : path.slice(0, dot)).children.push(created);
    return created;
  };
  const top = moduleAt("");
  for (const recorded of model.modules) {
    const module = moduleAt(recorded.path);
    if (recorded.path === "") module.name = recorded.kind;
    else module.op = recorded.kind;
    module.children.push(...recorded.parameters.map((parameter) => leafOf(parameter, module, prefix)));
    if (recorded.parameters.length === 1) module.shape = shapeOf(recorded.parameters[0]!);
    module.operations = 1;
  }
  addUp(top);
  // These counts are of the whole model, including what was left out.
  top.parameters = model.parameters;
  top.trained = model.trained_parameters;
  return top;
}

function leafOf(parameter: Parameter, module: Module, prefix: string): Module {
  const path = module.path === "" ? parameter.name : `${module.path}.${parameter.name}`;
  return {
    ...newModule(parameter.name, path),
    key: `${prefix}${path} (parameter)`,
    from: "parameter",
    op: [parameter.dtype, parameter.tied_to ? `tied to ${parameter.tied_to}` : "", parameter.trained ? "" : "frozen"]
      .filter(Boolean)
      .join(", "),
    parameters: parameter.count,
    trained: parameter.trained ? parameter.count : 0,
    shape: shapeOf(parameter),
  };
}

function shapeOf(parameter: Parameter): string | null {
  return parameter.shape === null ? null : `[${parameter.shape.join(", ")}]`;
}

/** What is missing in the lists of a run's models, as a sentence; null if they are complete. */
export function omittedText(models: Model[]): string | null {
  const modules = models.reduce((sum, model) => sum + model.left_out_modules, 0);
  const parameters = models.reduce((sum, model) => sum + model.left_out_parameters, 0);
  const omitted = [
    modules > 0 ? plural(modules, "module") : "",
    parameters > 0 ? plural(parameters, "parameter") : "",
  ].filter(Boolean);
  return omitted.length > 0 ? `${omitted.join(" and ")} not listed, but included in the total` : null;
}

/** The tags under which `pb.watch` logs the health of a module. */
export function healthTags(path: string): { gradient: string; update: string } {
  return path === ""
    ? { gradient: "train/gradient_flow/global_norm", update: "train/update_ratio" }
    : { gradient: `train/gradient_flow/${path}_norm`, update: `train/update_ratio/${path}` };
}

/** The tags about a module. Those that `pb.watch` logs come first. */
export function tagsOfModule(module: Module, tags: string[]): string[] {
  if (module.from === "parameter") return [];
  if (module.from === "graph") return tagsWithPath(module.path, tags);
  const known = Object.values(healthTags(module.path)).filter((tag) => tags.includes(tag));
  return [...new Set([...known, ...tagsWithPath(module.path, tags)])];
}

function newModule(name: string, path: string): Module {
  return {
    key: path,
    name,
    path,
    from: "graph",
    op: null,
    operations: 0,
    parameters: 0,
    trained: 0,
    shape: null,
    inputs: [],
    attributes: {},
    children: [],
  };
}

function addUp(module: Module): void {
  for (const child of module.children) {
    addUp(child);
    module.operations += child.operations;
    module.parameters += child.parameters;
    module.trained += child.trained;
  }
}

/** How many elements a shape such as `[64, 3, 7, 7]`, `(64, 3)` or `[(64, 3)]` has; null if a dimension is unknown. */
export function elementCount(shape: string | null): number | null {
  const match = shape?.match(/^[[(]{1,2}([\d,\s]+)[\])]{1,2}$/);
  if (!match) return null;
  return match[1]!
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean)
    .reduce((size, part) => size * Number(part), 1);
}

/** The tags that contain the path of a module, with any separators. */
export function tagsWithPath(path: string, tags: string[]): string[] {
  const normalize = (text: string) => `.${text.toLowerCase().replace(/[^a-z0-9]+/g, ".")}.`;
  const wanted = normalize(path.replace(/[[\]]/g, "."));
  if (wanted.length < 4) return [];
  return tags.filter((tag) => normalize(tag).includes(wanted));
}
