// Names that end alike, such as those of runs with an id of the sweep at their end.

/** Shorter endings take too little space to matter. */
const MIN_LENGTH = 6;

/** The names without the words that all of them end with: narrow spaces cut their beginnings, where they differ. */
export function withoutCommonEnd(names: string[]): string[] {
  const cut = commonEnd(names);
  return cut < MIN_LENGTH ? names : names.map((name) => `${name.slice(0, name.length - cut)}…`);
}

/** The length of the whole words that all names end with. */
function commonEnd([first, ...others]: string[]): number {
  if (first === undefined || others.length === 0) return 0;
  let length = first.length;
  for (const name of others) {
    let same = 0;
    while (same < length && name.at(-1 - same) === first.at(-1 - same)) same += 1;
    length = same;
  }
  const separator = first.slice(first.length - length).search(/[/\\.\-_ ]/);
  return separator < 0 || length === first.length ? 0 : length - separator - 1;
}
