// What the page remembers between visits, in the browser's own storage.

import type { Theme } from "../lib/colour";
import { DEFAULT_VIEW, type View } from "../lib/view";

export interface Settings {
  theme: Theme | "system";
  sideWidth: number;
  sideOpen: boolean;
  tree: boolean;
  columns: string[];
  cardWidth: number;
  settingsOpen: boolean;
  closedGroups: string[];
  /** The parts of the view that are habits rather than places. */
  view: Partial<View>;
}

const KEY = "pulseboard.settings";
const DEFAULTS: Settings = {
  theme: "system",
  sideWidth: 288,
  sideOpen: true,
  tree: false,
  columns: [],
  cardWidth: 380,
  settingsOpen: false,
  closedGroups: [],
  view: {},
};

function read(): Settings {
  try {
    return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Settings>) };
  } catch {
    return { ...DEFAULTS };
  }
}

export const settings = $state<Settings>(read());

export function saveSettings(): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(settings));
  } catch {
    // Private windows may refuse; the page works without.
  }
}

const HABITS = [
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

/** A view as this reader likes it. */
export function habitualView(): View {
  return { ...DEFAULT_VIEW, ...settings.view };
}

export function rememberHabits(view: View): void {
  const habits: Record<string, unknown> = {};
  for (const key of HABITS) habits[key] = $state.snapshot(view[key]);
  settings.view = habits as Partial<View>;
}
