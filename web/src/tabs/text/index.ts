// The Text tab.

import { hasKind } from "../../state/tags.svelte";
import type { Tab } from "../tab";

export const tab: Tab = {
  id: "text",
  label: "Text",
  order: 60,
  load: () => import("./Text.svelte"),
  hasData: () => hasKind("text"),
  showsTags: (kinds) => kinds.includes("text"),
};
