// The Health tab.

import type { RunSummary } from "../../api/types";
import { runList } from "../../runs/run_list.svelte";
import { runIndex } from "../../state/runs.svelte";
import { plural } from "../../ui/text/format";
import type { Tab } from "../tab";

const isBad = (run: RunSummary) => run.status === "critical" || run.status === "warning";

export const tab: Tab = {
  id: "health",
  label: "Health",
  order: 10,
  load: () => import("./Health.svelte"),
  mayOpenFirst: () => runIndex.all.some(isBad),
  badge: () => {
    const bad = runList.listed.filter(isBad);
    if (bad.length === 0) return null;
    const severity = bad.some((run) => run.status === "critical") ? "critical" : "warning";
    return { text: String(bad.length), title: `${plural(bad.length, "run")} with a warning or worse`, severity };
  },
};
