// Tags grouped by prefix, as in TensorBoard.

import { compareNames } from "../ui/text/natural_order";

export interface TagGroup {
  name: string;
  tags: string[];
}

/** Sorted groups of sorted tags. Tags without a prefix come first, in a group without a name. */
export function groupTags(tags: string[]): TagGroup[] {
  const groups = new Map<string, string[]>();
  const unprefixed: string[] = [];
  for (const tag of tags) {
    const slash = tag.indexOf("/");
    if (slash > 0) {
      const name = tag.slice(0, slash);
      const group = groups.get(name);
      if (group) group.push(tag);
      else groups.set(name, [tag]);
    } else {
      unprefixed.push(tag);
    }
  }
  const ungrouped: string[] = [];
  for (const tag of unprefixed) {
    const group = groups.get(tag);
    if (group) group.push(tag);
    else ungrouped.push(tag);
  }
  const sorted = [...groups].map(([name, members]) => ({ name, tags: members.sort(compareNames) }));
  // Groups about the model come before groups about the machine.
  sorted.sort(
    (a, b) => Number(isSystemTag(`${a.name}/`)) - Number(isSystemTag(`${b.name}/`)) || compareNames(a.name, b.name),
  );
  return ungrouped.length > 0 ? [{ name: "", tags: ungrouped.sort(compareNames) }, ...sorted] : sorted;
}

/** The groups in rows: neighbors of one card each share a row, all others have one of their own. */
export function rowsOfGroups(groups: TagGroup[]): TagGroup[][] {
  const rows: TagGroup[][] = [];
  for (const group of groups) {
    const last = rows.at(-1);
    if (last && group.tags.length === 1 && last[0]!.tags.length === 1) last.push(group);
    else rows.push([group]);
  }
  return rows;
}

const SYSTEM_TAG =
  /^(pulseboard|system|sys|gpu|cpu|memory|perf|performance|throughput|hardware|disk|network|time|timing|speed)[/_.]|tokens?_per_sec|samples?_per_sec|it(er)?s?_per_sec|step_time|\bmfu\b/i;

/** Whether a tag is about the machine rather than the model. */
export function isSystemTag(tag: string): boolean {
  return SYSTEM_TAG.test(tag);
}

/** How many tags of each group belong to the first few of all; groups without one are left out. */
export function firstTags(groups: TagGroup[], count: number): Map<string, number> {
  const found = new Map<string, number>();
  let left = count;
  for (const { name, tags } of groups) {
    if (left <= 0) break;
    found.set(name, Math.min(left, tags.length));
    left -= tags.length;
  }
  return found;
}
