// The rows of the run list: a flat list, groups, or a tree of path segments.

import type { RunSummary } from "../api/types";
import { displayName } from "../state/run_name";
import type { GroupBy } from "../state/view/view";
import { firstGroup } from "../ui/text/pattern";

/** The name of the group that a run belongs to; null if runs are not grouped or it belongs to none. */
export function groupOf(
  run: RunSummary,
  by: GroupBy,
  settings: Record<string, Record<string, unknown>>,
): string | null {
  if (by.kind === "none" || by.value === "") return null;
  if (by.kind === "regex") return firstGroup(run.name, by.value);
  const value = settings[run.name]?.[by.value];
  return value === undefined ? null : `${by.value} = ${String(value)}`;
}

export type Row =
  | { kind: "folder"; key: string; label: string; depth: number; runs: RunSummary[]; open: boolean }
  | { kind: "run"; key: string; label: string; depth: number; run: RunSummary };

/** Rows of a flat list. Runs that belong to a group are below it. Labels leave out the prefix of all names. */
export function flatRows(
  runs: RunSummary[],
  group: (run: RunSummary) => string | null,
  closed: Set<string>,
  prefix = "",
): Row[] {
  const groups = new Map<string, RunSummary[]>();
  const ungrouped: RunSummary[] = [];
  for (const run of runs) {
    const name = group(run);
    if (name === null) ungrouped.push(run);
    else groups.set(name, [...(groups.get(name) ?? []), run]);
  }
  const rows: Row[] = [];
  for (const [name, members] of groups) {
    const key = `group:${name}`;
    const open = !closed.has(key);
    rows.push({ kind: "folder", key, label: name, depth: 0, runs: members, open });
    if (open) for (const run of members) rows.push(runRow(run, 1, prefix));
  }
  for (const run of ungrouped) rows.push(runRow(run, 0, prefix));
  return rows;
}

function runRow(run: RunSummary, depth: number, prefix: string): Row {
  return { kind: "run", key: run.name, label: displayName(run, prefix), depth, run };
}

interface Branch {
  folders: Map<string, Branch>;
  runs: { run: RunSummary; label: string }[];
  all: RunSummary[];
}

/** Rows of a tree: names are split at slashes, and a folder with a single child is merged with it. */
export function treeRows(runs: RunSummary[], closed: Set<string>): Row[] {
  const root: Branch = { folders: new Map(), runs: [], all: [] };
  for (const run of runs) {
    const parts = run.name.split("/");
    const label = run.marks?.name || parts[parts.length - 1]!;
    let branch = root;
    for (const part of parts.slice(0, -1)) {
      let next = branch.folders.get(part);
      if (!next) {
        next = { folders: new Map(), runs: [], all: [] };
        branch.folders.set(part, next);
      }
      next.all.push(run);
      branch = next;
    }
    branch.runs.push({ run, label });
  }
  const rows: Row[] = [];
  const walk = (branch: Branch, path: string, depth: number) => {
    for (const [name, first] of branch.folders) {
      let label = name;
      let folder = first;
      while (folder.runs.length === 0 && folder.folders.size === 1) {
        const [childName, child] = [...folder.folders][0]!;
        label += `/${childName}`;
        folder = child;
      }
      const key = `folder:${path}${label}/`;
      const open = !closed.has(key);
      rows.push({ kind: "folder", key, label, depth, runs: folder.all, open });
      if (open) walk(folder, `${path}${label}/`, depth + 1);
    }
    for (const { run, label } of branch.runs) rows.push({ kind: "run", key: run.name, label, depth, run });
  };
  walk(root, "", 0);
  return rows;
}
