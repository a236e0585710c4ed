// The Alerts tab.

import { server } from "../../state/server.svelte";
import type { Tab } from "../tab";

export const tab: Tab = {
  id: "alerts",
  label: "Alerts",
  order: 130,
  load: () => import("./Alerts.svelte"),
  hasData: () => server.status?.alerts ?? false,
};
