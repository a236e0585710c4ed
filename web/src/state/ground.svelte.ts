// The colours of the theme that canvases need; the style sheet's variables, as values.

import type { Ground } from "../components/line_chart";
import { app } from "./app.svelte";

const LIGHT: Ground = {
  text: "#5a6570",
  grid: "#e9ecef",
  info: "#2f6fbd",
  warning: "#b26a00",
  critical: "#c62f3b",
  ok: "#2c8a57",
};
const DARK: Ground = {
  text: "#98a3ae",
  grid: "#2a3036",
  info: "#6ea8ec",
  warning: "#e0a33e",
  critical: "#f2777f",
  ok: "#58b987",
};

export function ground(): Ground {
  return app.theme === "dark" ? DARK : LIGHT;
}
