// The current view, and the functions that change it.

import { untrack } from "svelte";
import type { XAxis } from "../api/types";
import { settings } from "./settings.svelte";
import { formatHash, parseHash, parseSearch, withoutView, type FindTab } from "./view/url";
import { DEFAULT_VIEW, type CardView, type GroupBy, type Panel, type RunSort, type View } from "./view/view";

/** The parts of the view that the page remembers between visits. */
const PREFERENCES = [
  "smoothing",
  "smoother",
  "x",
  "logX",
  "logY",
  "ignoreOutliers",
  "syncZoom",
  "tooltipSort",
  "findings",
  "bands",
  "pinned",
  "statistic",
  "runSort",
  "runSortDown",
] as const;

const preferredView = (): View => ({ ...DEFAULT_VIEW, ...settings.view });

export const view = $state<View>(preferredView());

/** The preferences that the last link contained. They are not remembered until the user changes them. */
let linked: Partial<View> = {};

export function rememberPreferences(): void {
  const preferences: Record<string, unknown> = {};
  const remembered = untrack(() => settings.view);
  for (const key of PREFERENCES) {
    const value = $state.snapshot(view[key]);
    if (key in linked && JSON.stringify(linked[key]) !== JSON.stringify(value)) delete linked[key];
    preferences[key] = key in linked ? (remembered[key] ?? DEFAULT_VIEW[key]) : value;
  }
  // Another log directory may not have the metric.
  if (typeof preferences["x"] === "string" && preferences["x"].startsWith("tag:")) preferences["x"] = DEFAULT_VIEW.x;
  settings.view = preferences as Partial<View>;
}

// ---- the URL

export function readUrl(findTab: FindTab): void {
  linked = { ...parseSearch(location.search), ...parseHash(location.hash, findTab) };
  Object.assign(view, { ...preferredView(), ...linked });
}

/** Writes the view to the URL. A change of tab and a card at full size become entries in the browser's history. */
export function writeUrl(findTab: FindTab): void {
  const hash = formatHash(view);
  const search = withoutView(location.search);
  if (hash === location.hash && search === location.search) return;
  const before = parseHash(location.hash, findTab);
  const url = location.pathname + search + hash;
  const newTab = before.tab !== undefined && before.tab !== view.tab;
  const opened = view.full !== null && before.full === undefined;
  if (newTab || opened) history.pushState(null, "", url);
  else history.replaceState(null, "", url);
}

/** The view as the part of the URL after #: everything that differs from the defaults. */
export function viewHash(): string {
  return formatHash(view).slice(1);
}

/** A link that shows this view to anyone: it contains everything that differs from the defaults. */
export function viewLink(): string {
  return location.origin + location.pathname + withoutView(location.search) + formatHash(view);
}

// ---- tabs

export function openTab(tab: string): void {
  view.tab = tab;
}

export function openHealth(run: string): void {
  view.run = run;
  openTab("health");
}

export function compareWith(run: string): void {
  view.compare = [...new Set([...view.compare, run])];
  openTab("compare");
}

/** Opens a tab with exactly these tags. */
export function openTags(tab: string, tags: string[]): void {
  view.tagFilter = tags.map((tag) => `^${tag.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`).join("|");
  openTab(tab);
}

// ---- charts

export function setXAxis(x: XAxis): void {
  view.x = x;
  resetZooms();
}

/** Shows all of every card again. */
export function resetZooms(): void {
  view.zoom = null;
  for (const key of Object.keys(view.cards)) changeCard(key, { x: undefined, y: undefined });
}

/** The axis of charts that cannot have a metric as x: the chosen one, or the step. */
export function stepOrTimeAxis(): "step" | "relative" | "wall" {
  return view.x === "relative" || view.x === "wall" ? view.x : "step";
}

/** The axis after the current one; after a metric, the step. */
export function nextXAxis(): void {
  const axes: XAxis[] = ["step", "relative", "wall"];
  setXAxis(axes[(axes.indexOf(view.x) + 1) % 3]!);
}

export function changeSmoothing(by: number): void {
  view.smoothing = Math.round(Math.max(0, Math.min(0.99, view.smoothing + by)) * 1000) / 1000;
}

// ---- cards

/** Changes what one card shows differently from the others; undefined makes it like them again. */
export function changeCard(key: string, change: { [K in keyof CardView]: CardView[K] | undefined }): void {
  const card = Object.fromEntries(
    Object.entries({ ...view.cards[key], ...change }).filter(([, value]) => value !== undefined),
  ) as CardView;
  const { [key]: _, ...others } = view.cards;
  view.cards = Object.keys(card).length > 0 ? { ...others, [key]: card } : others;
}

export function togglePin(tag: string): void {
  view.pinned = view.pinned.includes(tag) ? view.pinned.filter((other) => other !== tag) : [...view.pinned, tag];
}

export function addPanel(panel: Panel): void {
  view.panels = [...view.panels, panel];
}

export function changePanel(index: number, panel: Panel): void {
  view.panels = view.panels.map((other, i) => (i === index ? panel : other));
}

export function removePanel(index: number): void {
  view.panels = view.panels.filter((_, i) => i !== index);
}

/** Moves one of the user's cards by a number of places. */
export function movePanel(index: number, by: number): void {
  const panels = [...view.panels];
  const [panel] = panels.splice(index, 1);
  if (panel) panels.splice(Math.max(0, index + by), 0, panel);
  view.panels = panels;
}

// ---- the baseline and selected steps

/** Compares the other runs with this one; null ends that. */
export function setBaseline(run: string | null): void {
  view.baseline = run;
  if (run === null) view.difference = false;
}

/** Selects a step, or all steps from the first selected one to this one. */
export function selectStep(step: number, extend: boolean): void {
  const first = extend && view.steps ? view.steps[0] : step;
  view.steps = [Math.min(first, step), Math.max(first, step)];
}

// ---- the list of runs

/** Sorts the runs. A second call with the same key reverses the order. */
export function sortRunsBy(key: RunSort): void {
  if (view.runSort === key) {
    view.runSortDown = !view.runSortDown;
    return;
  }
  view.runSort = key;
  view.runSortDown = key !== "name";
}

export function groupRunsBy(groupBy: GroupBy): void {
  view.groupBy = groupBy;
}
