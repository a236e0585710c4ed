// Tags in groups by their prefix, as TensorBoard has them.

export interface TagGroup {
  name: string;
  tags: string[];
}

/** The part of a tag before its first slash; a tag without one is its own group's name. */
export function prefixOf(tag: string): string {
  const slash = tag.indexOf("/");
  return slash > 0 ? tag.slice(0, slash) : tag;
}

/** Groups in natural order, tags within them too. Tags without a prefix stand together first where there are several. */
export function groupTags(tags: string[]): TagGroup[] {
  const groups = new Map<string, string[]>();
  const bare: string[] = [];
  for (const tag of tags) {
    if (tag.indexOf("/") > 0) {
      const name = prefixOf(tag);
      const group = groups.get(name);
      if (group) group.push(tag);
      else groups.set(name, [tag]);
    } else {
      bare.push(tag);
    }
  }
  const alone: string[] = [];
  for (const tag of bare) {
    const group = groups.get(tag);
    if (group) group.push(tag);
    else alone.push(tag);
  }
  const sorted = [...groups].map(([name, members]) => ({ name, tags: members.sort(naturally) }));
  // What the model does comes before what the machine does.
  sorted.sort((a, b) => Number(isSystemTag(`${a.name}/`)) - Number(isSystemTag(`${b.name}/`)) || naturally(a.name, b.name));
  return alone.length > 0 ? [{ name: "", tags: alone.sort(naturally) }, ...sorted] : sorted;
}

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** A decimal number, but no part of a version such as v1.10 or 1.2.3. */
const DECIMAL = /((?<![\d.v])\d+\.\d+(?!\.?\d))/;

/** The order people expect: layer2 before layer10, and a rate of 0.0003 before one of 0.001. */
export function naturally(a: string, b: string): number {
  return (a.includes(".") && b.includes(".") ? byDecimals(a, b) : collator.compare(a, b)) || (a < b ? -1 : a > b ? 1 : 0);
}

function byDecimals(a: string, b: string): number {
  // Every second part is a decimal number.
  const [left, right] = [a.split(DECIMAL), b.split(DECIMAL)];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const order = i % 2 === 1 ? Number(left[i]) - Number(right[i]) : collator.compare(left[i]!, right[i]!);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

const SYSTEM = /^(pulseboard|system|sys|gpu|cpu|memory|perf|performance|throughput|hardware|disk|network|time|timing|speed)[/_.]|tokens?_per_sec|samples?_per_sec|it(er)?s?_per_sec|step_time|\bmfu\b/i;

/** Whether a tag speaks of the machine rather than of the model. */
export function isSystemTag(tag: string): boolean {
  return SYSTEM.test(tag);
}
