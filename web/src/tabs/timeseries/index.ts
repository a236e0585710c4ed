// The Time series tab.

import type { Tab } from "../tab";

export const tab: Tab = {
  id: "timeseries",
  aliases: ["time_series"],
  label: "Time series",
  order: 30,
  load: () => import("./TimeSeries.svelte"),
  drawsScalars: true,
};
