// The run list: which runs it lists, which are visible on charts, and their colors.

import type { RunSummary } from "../api/types";
import { columnValue, hparams } from "../state/hparams.svelte";
import { runIndex } from "../state/runs.svelte";
import { isEverything, selectedNames, selectionOf } from "../state/view/selection";
import { view } from "../state/view.svelte";
import { theme } from "../ui/theme.svelte";
import { compareNames } from "../ui/text/natural_order";
import { assignColors, COLOR_COUNT, hashName, paletteColor } from "./run_colors";
import { filterRuns } from "./run_filter";
import { sortRuns } from "./run_order";
import { groupOf } from "./run_rows";

/** How many runs are selected at first if there are very many. */
const FIRST_SELECTION = 100;

class RunList {
  /** The runs that the filter keeps, without hidden ones. */
  listed = $derived(
    filterRuns(
      runIndex.all.filter((run) => !run.marks?.hidden),
      view.runFilter,
      view.baseline,
    ),
  );
  listedNames = $derived(this.listed.map((run) => run.name));
  /** Whether only the newest of the listed runs are selected: there are very many and the user chose none. */
  onlyNewest = $derived(
    isEverything(view.selection) && !runIndex.everyRunChosen && this.listed.length > 2 * FIRST_SELECTION,
  );
  selected = $derived.by(() => {
    const names = this.onlyNewest ? newestNames(this.listed) : selectedNames(view.selection, runIndex.names);
    // The baseline is always drawn.
    return view.baseline === null ? names : new Set([...names, view.baseline]);
  });
  /** The names of the runs on the charts, in an order that does not change as they grow. */
  visible = $derived(this.listedNames.filter((name) => this.selected.has(name)).sort(compareNames));
  visibleSet = $derived(new Set(this.visible));
  sorted = $derived.by(() => {
    const sorted = sortRuns(this.listed, view.runSort, view.runSortDown, sortedColumn());
    const isBaseline = (run: RunSummary) => run.name === view.baseline;
    return [...sorted.filter(isBaseline), ...sorted.filter((run) => !isBaseline(run))];
  });
  /** The colors that runs had when they were last drawn. Not a state: it only steadies the colors. */
  private lastColors = new Map<string, number>();
  private colorIndexes = $derived.by(() => {
    // If there are colors for all runs, a run has the same one whatever is drawn with it.
    const few = runIndex.names.length <= COLOR_COUNT;
    const indexes = assignColors(few ? runIndex.names.toSorted(compareNames) : this.visible, this.lastColors);
    for (const [name, index] of indexes) this.lastColors.set(name, index);
    return indexes;
  });
  colors = $derived(
    new Map(
      runIndex.all.map(({ name, marks }) => {
        const index = this.colorIndexes.get(name) ?? this.lastColors.get(name) ?? hashName(name);
        return [name, marks?.color || paletteColor(index, theme.current)];
      }),
    ),
  );
}

export const runList = new RunList();

function newestNames(runs: RunSummary[]): Set<string> {
  const newest = [...runs].sort((a, b) => (b.ended ?? 0) - (a.ended ?? 0)).slice(0, FIRST_SELECTION);
  return new Set(newest.map((run) => run.name));
}

function sortedColumn(): Map<string, unknown> {
  if (!view.runSort.startsWith("column:")) return new Map();
  const column = view.runSort.slice("column:".length);
  return new Map(runIndex.all.map((run) => [run.name, columnValue(run.name, column)]));
}

export function runColor(name: string): string {
  return runList.colors.get(name) ?? paletteColor(0, theme.current);
}

export function groupOfRun(run: RunSummary): string | null {
  return groupOf(run, view.groupBy, hparams.settings);
}

// ---- selecting

/** Selects exactly these runs. */
export function selectRuns(names: Iterable<string>): void {
  view.selection = selectionOf(new Set(names), runIndex.names);
  runIndex.everyRunChosen = isEverything(view.selection);
}

export function setSelected(names: string[], selected: boolean): void {
  // Of very many runs the user chose none yet: what is drawn is the choice.
  const unchosen = isEverything(view.selection) && !runIndex.everyRunChosen;
  const many = runIndex.all.length > 2 * FIRST_SELECTION;
  const next = new Set(unchosen && many ? runList.visible : runList.selected);
  for (const name of names) {
    if (selected) next.add(name);
    else next.delete(name);
  }
  selectRuns(next);
}

export function toggleRun(name: string): void {
  setSelected([name], !runList.selected.has(name));
}

/** Shows only one run. A second call shows all of them again. */
export function showOnly(name: string): void {
  const alone = runList.visible.length === 1 && runList.visible[0] === name;
  selectRuns(alone ? runIndex.names : [name]);
}

export function selectAllListed(): void {
  setSelected(runList.listedNames, true);
}

/** Shows all runs, listed or not. */
export function showEveryRun(): void {
  view.runFilter = "";
  selectRuns(runIndex.names);
}
