// A graph as a tree of modules: names cut at their slashes.

import type { GraphNode } from "./api";

export interface Module {
  name: string;
  path: string;
  op: string | null;
  /** Operations at or below here. */
  operations: number;
  parameters: number;
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

function moduleOf(name: string, path: string): Module {
  return { name, path, op: null, operations: 0, parameters: 0, shape: null, inputs: [], attributes: {}, children: [] };
}

function addUp(module: Module): void {
  for (const child of module.children) {
    addUp(child);
    module.operations += child.operations;
    module.parameters += child.parameters;
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
