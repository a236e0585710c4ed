// The Compare tab.

import type { Tab } from "../tab";

export const tab: Tab = {
  id: "compare",
  label: "Compare",
  order: 120,
  load: () => import("./Compare.svelte"),
};
