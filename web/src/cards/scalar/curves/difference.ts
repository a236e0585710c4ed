// Differences from the baseline, as expressions that the server computes at full resolution.

/**
 * The tag to request so that a card draws how far runs are from the baseline. Expressions, and tags that an expression
 * cannot contain, stay as they are.
 */
export function differenceTag(tag: string, baseline: string): string {
  const [quotedTag, quotedRun] = [quote(tag), quote(baseline)];
  if (tag.startsWith("=") || quotedTag === null || quotedRun === null) return tag;
  return `=${quotedTag} - run(${quotedRun}, ${quotedTag})`;
}

function quote(name: string): string | null {
  if (!name.includes('"')) return `"${name}"`;
  return name.includes("'") ? null : `'${name}'`;
}
