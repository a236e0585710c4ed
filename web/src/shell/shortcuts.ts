// What single keys do. The help dialog and the command palette list them too.

import { tick } from "svelte";
import { selectAllListed } from "../runs/run_list.svelte";
import { togglePause } from "../state/live.svelte";
import { page } from "../state/page.svelte";
import { nextTheme, settings } from "../state/settings.svelte";
import { FALLBACK_TAB } from "../state/view/view";
import { changeSmoothing, nextXAxis, openTab, view } from "../state/view.svelte";
import { tabsWithData } from "../tabs/registry";

export interface Shortcut {
  keys: string[];
  description: string;
  /** Missing for mouse gestures and keys that are handled elsewhere. */
  run?: () => void;
}

export const SHORTCUTS: Shortcut[] = [
  { keys: ["Ctrl", "K"], description: "find a run, tag or action" },
  { keys: ["Ctrl", "F"], description: "the same; again for the browser's own search" },
  { keys: ["?"], description: "show keyboard shortcuts", run: () => (page.helpOpen = true) },
  { keys: ["/"], description: "filter tags", run: () => focusElement("[data-filter=tags]") },
  { keys: ["r"], description: "filter runs by name or tag (tag:good)", run: focusRunFilter },
  { keys: ["g", "1-9"], description: "go to a tab by number" },
  { keys: ["["], description: "previous tab", run: () => moveTab(-1) },
  { keys: ["]"], description: "next tab", run: () => moveTab(1) },
  { keys: ["b"], description: "show or hide the runs", run: () => (settings.sideOpen = !settings.sideOpen) },
  { keys: ["s"], description: "show or hide settings", run: () => (settings.settingsOpen = !settings.settingsOpen) },
  { keys: ["a"], description: "show all listed runs", run: selectAllListed },
  { keys: ["x"], description: "x axis: step, relative, wall", run: nextXAxis },
  { keys: ["l"], description: "log y", run: () => (view.logY = !view.logY) },
  { keys: ["o"], description: "ignore outliers", run: () => (view.ignoreOutliers = !view.ignoreOutliers) },
  { keys: [","], description: "less smoothing", run: () => changeSmoothing(-0.1) },
  { keys: ["."], description: "more smoothing", run: () => changeSmoothing(0.1) },
  { keys: ["p"], description: "pause or resume live updates", run: togglePause },
  { keys: ["t"], description: "light, dark or system theme", run: nextTheme },
  { keys: ["+", "−", "←", "→", "0"], description: "zoom, pan and reset the focused chart" },
  { keys: ["Alt", "wheel"], description: "zoom the chart under the pointer" },
  { keys: ["Shift", "drag"], description: "pan a chart" },
  { keys: ["double-click"], description: "reset the zoom of a chart" },
];

/** Whether the last key was "g", after which a digit opens a tab. */
let expectsTabNumber = false;

/** Runs the shortcut of a key, if there is one. */
export function handleKey(event: KeyboardEvent): void {
  if (expectsTabNumber && /^[1-9]$/.test(event.key)) {
    const tab = tabsWithData(currentTab())[Number(event.key) - 1];
    if (tab) openTab(tab.id);
    expectsTabNumber = false;
    return;
  }
  expectsTabNumber = event.key === "g";
  const shortcut = SHORTCUTS.find(({ keys, run }) => run && keys.length === 1 && keys[0] === event.key);
  if (!shortcut) return;
  event.preventDefault();
  shortcut.run!();
}

function currentTab(): string {
  return view.tab ?? FALLBACK_TAB;
}

function moveTab(by: number): void {
  const tabs = tabsWithData(currentTab());
  const index = tabs.findIndex((tab) => tab.id === currentTab());
  openTab(tabs[(index + by + tabs.length) % tabs.length]!.id);
}

function focusRunFilter(): void {
  settings.sideOpen = true;
  page.drawerOpen = true;
  // As soon as the filter is rendered: the next key is already part of the filter.
  void tick().then(() => focusElement("[data-filter=runs]"));
}

function focusElement(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus();
}
