// The Histograms tab.

import { hasKind } from "../../state/tags.svelte";
import type { Tab } from "../tab";

export const tab: Tab = {
  id: "histograms",
  label: "Histograms",
  order: 50,
  load: () => import("./Histograms.svelte"),
  hasData: () => hasKind("histogram"),
  showsTags: (kinds) => kinds.some((kind) => kind.startsWith("histogram")),
};
