// The System tab.

import type { Tab } from "../tab";

export const tab: Tab = {
  id: "system",
  label: "System",
  order: 100,
  load: () => import("./System.svelte"),
  drawsScalars: true,
};
