// The Distributions tab.

import { hasKind } from "../../state/tags.svelte";
import type { Tab } from "../tab";

export const tab: Tab = {
  id: "distributions",
  label: "Distributions",
  order: 40,
  load: () => import("./Distributions.svelte"),
  hasData: () => hasKind("histogram"),
};
