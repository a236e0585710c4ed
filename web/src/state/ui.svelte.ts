// What is open on the page at the moment, and what single keys do.

import { tick } from "svelte";
import { TABS, type Tab } from "../lib/view";
import { app } from "./app.svelte";
import { settings } from "./settings.svelte";
import { pause, resume } from "./stream";

export interface Shortcut {
  keys: string[];
  does: string;
  run?: () => void;
}

class Ui {
  palette = $state(false);
  help = $state(false);
  /** The runs as a drawer, on narrow screens. */
  drawer = $state(false);
  private waitingForTab = false;

  shortcuts: Shortcut[] = [
    { keys: ["Ctrl", "K"], does: "find a run, a tag or an action" },
    { keys: ["?"], does: "this sheet", run: () => (this.help = true) },
    { keys: ["/"], does: "filter tags", run: () => focus("[data-filter=tags]") },
    { keys: ["r"], does: "filter runs by name, or by tag as tag:good", run: () => this.focusRuns() },
    { keys: ["g", "1-9"], does: "go to a tab by its place" },
    { keys: ["["], does: "tab to the left", run: () => this.step(-1) },
    { keys: ["]"], does: "tab to the right", run: () => this.step(1) },
    { keys: ["b"], does: "show or hide the runs", run: () => (settings.sideOpen = !settings.sideOpen) },
    { keys: ["s"], does: "show or hide the settings", run: () => (settings.settingsOpen = !settings.settingsOpen) },
    { keys: ["a"], does: "draw all listed runs", run: () => app.setChosen(app.listed.map((run) => run.name), true) },
    { keys: ["x"], does: "x axis: step, relative, wall", run: () => this.nextX() },
    { keys: ["l"], does: "logarithmic y", run: () => (app.view.logY = !app.view.logY) },
    { keys: ["o"], does: "ignore outliers", run: () => (app.view.ignoreOutliers = !app.view.ignoreOutliers) },
    { keys: [","], does: "less smoothing", run: () => this.smooth(-0.1) },
    { keys: ["."], does: "more smoothing", run: () => this.smooth(0.1) },
    { keys: ["p"], does: "pause or go live", run: () => (app.connection === "paused" ? resume() : pause()) },
    { keys: ["t"], does: "light, dark or system theme", run: () => nextTheme() },
    { keys: ["+", "−", "←", "→", "0"], does: "zoom, move and reset the chart in focus" },
    { keys: ["Alt", "wheel"], does: "zoom the chart under the pointer" },
    { keys: ["Shift", "drag"], does: "move along a chart" },
    { keys: ["double click"], does: "whole range again" },
  ];

  press(event: KeyboardEvent): void {
    if (this.waitingForTab && /^[1-9]$/.test(event.key)) {
      const tab = visibleTabs()[Number(event.key) - 1];
      if (tab) app.go(tab);
      this.waitingForTab = false;
      return;
    }
    this.waitingForTab = event.key === "g";
    const shortcut = this.shortcuts.find((one) => one.run && one.keys.length === 1 && one.keys[0] === event.key);
    if (!shortcut) return;
    event.preventDefault();
    shortcut.run!();
  }

  private step(by: number): void {
    const tabs = visibleTabs();
    const at = tabs.indexOf(app.view.tab ?? "scalars");
    app.go(tabs[(at + by + tabs.length) % tabs.length]!);
  }

  private nextX(): void {
    const kinds = ["step", "relative", "wall"] as const;
    app.view.x = kinds[(kinds.indexOf(app.view.x) + 1) % 3]!;
    app.view.zoom = null;
  }

  private smooth(by: number): void {
    app.view.smoothing = Math.round(Math.max(0, Math.min(0.99, app.view.smoothing + by)) * 1000) / 1000;
  }

  private focusRuns(): void {
    settings.sideOpen = true;
    this.drawer = true;
    // As soon as the list is there: the next key is already a letter of the filter.
    void tick().then(() => focus("[data-filter=runs]"));
  }
}

function focus(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus();
}

export function nextTheme(): void {
  const themes = ["system", "light", "dark"] as const;
  settings.theme = themes[(themes.indexOf(settings.theme) + 1) % 3]!;
}

const NEEDS: Partial<Record<Tab, string[]>> = {
  distributions: ["histogram"],
  histograms: ["histogram"],
  text: ["text"],
  images: ["image", "video"],
  audio: ["audio"],
  graph: ["graph", "keras_graph"],
};

/** Whether the logs hold anything that a tab would show. */
export function hasData(tab: Tab): boolean {
  if (tab === "graph" && app.runs.some((run) => run.has_modules)) return true;
  const kinds = NEEDS[tab];
  return !kinds || kinds.some((kind) => [...app.kinds].some((known) => known.startsWith(kind)));
}

/** The tabs with something to show, in order; the open one too. */
export function visibleTabs(): Tab[] {
  return TABS.filter((tab) => hasData(tab) || tab === app.view.tab);
}

export const ui = new Ui();
