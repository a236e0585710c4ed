// The Alerts tab.

import { server } from "../../state/server.svelte";
import type { Tab } from "../tab";

export const tab: Tab = {
  id: "alerts",
  label: "Alerts",
  order: 127,
  load: () => import("./Alerts.svelte"),
  hasData: () => server.status?.alerts ?? false,
};
