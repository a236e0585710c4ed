// The Guide tab.

import type { Tab } from "../tab";

export const tab: Tab = {
  id: "guide",
  label: "Guide",
  order: 125,
  load: () => import("./Guide.svelte"),
};
