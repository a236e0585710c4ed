// The Scalars tab.

import type { Tab } from "../tab";

export const tab: Tab = {
  id: "scalars",
  aliases: ["custom_scalars"],
  label: "Scalars",
  order: 20,
  load: () => import("./Scalars.svelte"),
  showsTags: (kinds) => kinds.includes("scalar"),
  mayOpenFirst: () => true,
  drawsScalars: true,
};
