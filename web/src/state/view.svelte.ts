// The current view, and the functions that change it.

import type { XAxis } from "../api/types";
import { settings } from "./settings.svelte";
import { formatHash, parseHash, type FindTab } from "./view/url";
import { DEFAULT_VIEW, type GroupBy, type RunSort, type View } from "./view/view";

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

export function rememberPreferences(): void {
  const preferences: Record<string, unknown> = {};
  for (const key of PREFERENCES) preferences[key] = $state.snapshot(view[key]);
  // Another log directory may not have the metric.
  preferences.x = stepOrTimeAxis();
  settings.view = preferences as Partial<View>;
}

// ---- the URL

export function readUrl(findTab: FindTab): void {
  Object.assign(view, { ...preferredView(), ...parseHash(location.hash, findTab) });
}

/** Writes the view to the URL. A change of tab becomes an entry in the browser's history. */
export function writeUrl(findTab: FindTab): void {
  const hash = formatHash(view);
  if (hash === location.hash) return;
  const previousTab = parseHash(location.hash, findTab).tab;
  const url = location.pathname + location.search + hash;
  if (previousTab !== undefined && previousTab !== view.tab) history.pushState(null, "", url);
  else history.replaceState(null, "", url);
}

/** A link that shows this view to anyone: it contains everything that differs from the defaults. */
export function viewLink(): string {
  return location.href.split("#")[0] + formatHash(view);
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
  view.zoom = null;
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

export function togglePin(tag: string): void {
  view.pinned = view.pinned.includes(tag) ? view.pinned.filter((other) => other !== tag) : [...view.pinned, tag];
}

export function addOverlay(tags: string[]): void {
  view.overlays = [...view.overlays, tags];
}

export function removeOverlay(index: number): void {
  view.overlays = view.overlays.filter((_, i) => i !== index);
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
