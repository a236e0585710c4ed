// The Images tab.

import { hasKind } from "../../state/tags.svelte";
import type { Tab } from "../tab";

export const tab: Tab = {
  id: "images",
  label: "Images",
  order: 70,
  load: () => import("./Images.svelte"),
  hasData: () => hasKind("image") || hasKind("video"),
  showsTags: (kinds) => kinds.includes("image"),
};
