// The Files tab.

import { runIndex } from "../../state/runs.svelte";
import type { Tab } from "../tab";

export const tab: Tab = {
  id: "files",
  aliases: ["artifacts"],
  label: "Files",
  order: 115,
  load: () => import("./Files.svelte"),
  hasData: () => runIndex.all.some((run) => run.has_artifacts),
};
