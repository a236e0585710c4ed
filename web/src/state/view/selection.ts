// Which runs are selected.

/** Only some runs, or all except some: whichever is shorter, because the selection is part of the URL. */
export type Selection = { only: string[] } | { except: string[] };

/** The selection that contains the given names. */
export function selectionOf(selected: Set<string>, all: string[]): Selection {
  const unselected = all.filter((name) => !selected.has(name));
  if (unselected.length <= selected.size) return { except: unselected };
  return { only: all.filter((name) => selected.has(name)) };
}

export function isEverything(selection: Selection): boolean {
  return "except" in selection && selection.except.length === 0;
}

/** The names in a selection. */
export function selectedNames(selection: Selection, all: string[]): Set<string> {
  if ("only" in selection) {
    const only = new Set(selection.only);
    return new Set(all.filter((name) => only.has(name)));
  }
  const except = new Set(selection.except);
  return new Set(all.filter((name) => !except.has(name)));
}
