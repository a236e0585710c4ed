// What the page remembers between visits, in the browser's local storage.

import type { Theme } from "../ui/theme.svelte";
import type { View } from "./view/view";

export interface Settings {
  theme: Theme | "system";
  sideWidth: number;
  sideOpen: boolean;
  /** Whether the runs are shown as a tree. */
  tree: boolean;
  /** Settings and metrics shown next to the runs. */
  columns: string[];
  cardWidth: number;
  settingsOpen: boolean;
  closedGroups: string[];
  /** The parts of the view that are preferences. */
  view: Partial<View>;
}

const KEY = "pulseboard.settings";
const MIN_SIDE_WIDTH = 200;
const MAX_SIDE_WIDTH = 640;
const DEFAULTS: Settings = {
  theme: "system",
  sideWidth: 288,
  sideOpen: true,
  tree: false,
  columns: [],
  cardWidth: 340,
  settingsOpen: false,
  closedGroups: [],
  view: {},
};

function readSettings(): Settings {
  try {
    return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Settings>) };
  } catch {
    return { ...DEFAULTS };
  }
}

export const settings = $state<Settings>(readSettings());

export function saveSettings(): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(settings));
  } catch {
    // Private windows may forbid it. The page works without.
  }
}

/** Forgets everything and reloads the page. */
export function resetSettings(): void {
  localStorage.removeItem(KEY);
  location.hash = "";
  location.reload();
}

export function nextTheme(): void {
  const themes = ["system", "light", "dark"] as const;
  settings.theme = themes[(themes.indexOf(settings.theme) + 1) % 3]!;
}

export function toggleColumn(column: string): void {
  if (settings.columns.includes(column)) {
    settings.columns = settings.columns.filter((other) => other !== column);
    return;
  }
  settings.columns = [...settings.columns, column];
  settings.sideWidth = Math.max(settings.sideWidth, Math.min(MAX_SIDE_WIDTH, 250 + settings.columns.length * 78));
}

export function setSideWidth(width: number): void {
  settings.sideWidth = Math.max(MIN_SIDE_WIDTH, Math.min(MAX_SIDE_WIDTH, width));
}
