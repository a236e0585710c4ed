// The Graph tab.

import { runIndex } from "../../state/runs.svelte";
import { hasKind } from "../../state/tags.svelte";
import type { Tab } from "../tab";

export const tab: Tab = {
  id: "graph",
  aliases: ["graphs"],
  label: "Graph",
  order: 110,
  load: () => import("./Graph.svelte"),
  hasData: () => runIndex.all.some((run) => run.has_modules) || hasKind("graph") || hasKind("keras_graph"),
};
