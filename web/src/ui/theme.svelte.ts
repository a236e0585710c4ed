// The current theme, and its colors for code that draws on a canvas.

import { longHex } from "./color";

export type Theme = "light" | "dark";

/** Light or dark, as the page is shown now. */
export const theme = $state<{ current: Theme }>({ current: "light" });

/** The colors of ui/styles/theme.css that canvases and image files need. */
export interface ThemeColors {
  /** The background of a card. */
  card: string;
  /** Axis labels. */
  text: string;
  grid: string;
  ok: string;
  info: string;
  warning: string;
  critical: string;
}

const cache = new Map<Theme, ThemeColors>();

/** Shows the page in a theme. */
export function applyTheme(next: Theme): void {
  document.documentElement.dataset["theme"] = next;
  theme.current = next;
}

/** The colors of the current theme, read from the style sheet: that is the only place where they are defined. */
export function themeColors(): ThemeColors {
  const known = cache.get(theme.current);
  if (known) return known;
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => longHex(style.getPropertyValue(`--${name}`).trim());
  const colors: ThemeColors = {
    card: color("card"),
    text: color("dim"),
    grid: color("grid"),
    ok: color("ok"),
    info: color("info"),
    warning: color("warning"),
    critical: color("critical"),
  };
  cache.set(theme.current, colors);
  return colors;
}

const colorLists = new Map<string, string[]>();

/** A list of colors of a theme, read from the style sheet while that theme is shown. */
function colorList(name: string, shown: Theme): string[] {
  const key = `${shown} ${name}`;
  let colors = colorLists.get(key);
  if (!colors) {
    const list = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);
    colors = list.split(",").map((color) => longHex(color.trim()));
    colorLists.set(key, colors);
  }
  return colors;
}

/** The colors of runs. */
export const runColorsOf = (shown: Theme): string[] => colorList("run-colors", shown);

/** The colors of a heatmap, from the smallest to the largest value. */
export const heatColorsOf = (shown: Theme): string[] => colorList("heat-colors", shown);
