// The list of runs: filtered, sorted, grouped, and as a tree of path segments.

import type { RunSummary, Status } from "./api";
import { caught, patternOf } from "./pattern";
import { naturally } from "./tags";

export type RunSort = "name" | "started" | "status" | "last_step" | `column:${string}`;

const RANK: Record<Status, number> = { critical: 3, warning: 2, info: 1, ok: 0 };

/** How bad a status is; a run that was not diagnosed comes last. */
export function rankOf(status: Status | null): number {
  return status === null ? -1 : RANK[status];
}

/** The name a reader sees: the one given by hand, or the run's own. */
export function shownName(run: RunSummary): string {
  return run.marks?.name || run.name;
}

export interface RunPattern {
  fits: (run: RunSummary) => boolean;
  /** What is wrong with an expression in it, or null. */
  error: string | null;
}

const TAG_WORD = /(?:^|\s)(-?)tag:(\S*)/g;

/**
 * A filter of runs from what was typed. `tag:good` keeps runs that a user gave such a tag and `-tag:bad` those without;
 * what is left is an expression for names. Tags have a word of their own because a look-ahead that keeps tests out by
 * their name would let them in by their tags.
 */
export function runPatternOf(filter: string): RunPattern {
  const tags = [...filter.matchAll(TAG_WORD)].map(([, without, expression]) => ({ wanted: without === "", pattern: patternOf(expression!) }));
  const name = patternOf(tags.length > 0 ? filter.replace(TAG_WORD, " ").trim() : filter);
  const error = [name, ...tags.map((tag) => tag.pattern)].find((pattern) => pattern.error !== null)?.error ?? null;
  const nameFits = (run: RunSummary) =>
    name.fits(shownName(run)) || (run.marks?.name ? name.fits(run.name) : false) || run.aliases.some(name.fits);
  const tagsFit = (run: RunSummary) =>
    tags.every(({ wanted, pattern }) => pattern.error !== null || (run.marks?.tags ?? []).some(pattern.fits) === wanted);
  return { fits: (run) => nameFits(run) && tagsFit(run), error };
}

export function filterRuns(runs: RunSummary[], filter: string): RunSummary[] {
  return runs.filter(runPatternOf(filter).fits);
}

/** A copy in the order asked for. `values` holds what a column shows for each run. */
export function sortRuns(
  runs: RunSummary[],
  by: RunSort,
  descending: boolean,
  values: Map<string, unknown> = new Map(),
): RunSummary[] {
  const direction = descending ? -1 : 1;
  const compare = (a: RunSummary, b: RunSummary): number => {
    switch (by) {
      case "name":
        return naturally(shownName(a), shownName(b)) * direction;
      case "started":
        return ((a.started ?? 0) - (b.started ?? 0)) * direction;
      case "status":
        return (rankOf(a.status) - rankOf(b.status)) * direction;
      case "last_step":
        return ((a.last_step ?? -1) - (b.last_step ?? -1)) * direction;
      default:
        return compareValues(values.get(a.name), values.get(b.name), direction);
    }
  };
  return [...runs].sort((a, b) => compare(a, b) || naturally(shownName(a), shownName(b)));
}

/** Numbers by size, the rest as text; what is missing or NaN stands last in either direction. */
export function compareValues(a: unknown, b: unknown, direction: 1 | -1): number {
  const gone = (v: unknown) => v === null || v === undefined || (typeof v === "number" && Number.isNaN(v));
  if (gone(a) || gone(b)) return gone(a) === gone(b) ? 0 : gone(a) ? 1 : -1;
  if (typeof a === "number" && typeof b === "number") return (a - b) * direction;
  return naturally(String(a), String(b)) * direction;
}

export type GroupBy = { kind: "none" } | { kind: "regex"; value: string } | { kind: "hparam"; value: string };

/** The name of the group a run belongs to; null where the runs are not grouped or it fits none. */
export function groupOf(run: RunSummary, by: GroupBy, hparams: Record<string, Record<string, unknown>>): string | null {
  if (by.kind === "none" || by.value === "") return null;
  if (by.kind === "regex") return caught(run.name, by.value);
  const value = hparams[run.name]?.[by.value];
  return value === undefined ? null : `${by.value} = ${String(value)}`;
}

export type Row =
  | { kind: "folder"; key: string; label: string; depth: number; runs: RunSummary[]; open: boolean }
  | { kind: "run"; key: string; label: string; depth: number; run: RunSummary };

/** Rows of a flat list, or of groups where runs have them. */
export function flatRows(runs: RunSummary[], group: (run: RunSummary) => string | null, closed: Set<string>): Row[] {
  const groups = new Map<string, RunSummary[]>();
  const single: RunSummary[] = [];
  for (const run of runs) {
    const name = group(run);
    if (name === null) single.push(run);
    else groups.set(name, [...(groups.get(name) ?? []), run]);
  }
  const rows: Row[] = [];
  for (const [name, members] of groups) {
    const key = `group:${name}`;
    const open = !closed.has(key);
    rows.push({ kind: "folder", key, label: name, depth: 0, runs: members, open });
    if (open) for (const run of members) rows.push(rowOf(run, 1));
  }
  for (const run of single) rows.push(rowOf(run, 0));
  return rows;
}

function rowOf(run: RunSummary, depth: number): Row {
  return { kind: "run", key: run.name, label: shownName(run), depth, run };
}

interface Branch {
  folders: Map<string, Branch>;
  runs: { run: RunSummary; label: string }[];
  all: RunSummary[];
}

/** Rows of a tree: names cut at slashes, folders with a single child joined with it. */
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

/** Which runs are drawn: those chosen, or all but some. Kept short, so that it fits a URL. */
export type Selection = { only: string[] } | { except: string[] };

export function isSelected(selection: Selection, name: string): boolean {
  return "only" in selection ? selection.only.includes(name) : !selection.except.includes(name);
}

/** The selection after some runs were switched on or off, in its shorter form. */
export function select(selection: Selection, names: string[], on: boolean, all: string[]): Selection {
  const changed = new Set(names);
  const now = selectedSet(selection, all);
  for (const name of changed) {
    if (on) now.add(name);
    else now.delete(name);
  }
  return selectionOf(now, all);
}

export function selectionOf(chosen: Set<string>, all: string[]): Selection {
  const off = all.filter((name) => !chosen.has(name));
  return off.length <= chosen.size ? { except: off } : { only: all.filter((name) => chosen.has(name)) };
}

export function selectedSet(selection: Selection, all: string[]): Set<string> {
  if ("only" in selection) {
    const only = new Set(selection.only);
    return new Set(all.filter((name) => only.has(name)));
  }
  const except = new Set(selection.except);
  return new Set(all.filter((name) => !except.has(name)));
}
