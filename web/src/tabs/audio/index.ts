// The Audio tab.

import { hasKind } from "../../state/tags.svelte";
import type { Tab } from "../tab";

export const tab: Tab = {
  id: "audio",
  label: "Audio",
  order: 80,
  load: () => import("./Audio.svelte"),
  hasData: () => hasKind("audio"),
  showsTags: (kinds) => kinds.includes("audio"),
};
