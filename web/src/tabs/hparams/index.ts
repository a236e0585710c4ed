// The HParams tab.

import type { Tab } from "../tab";

export const tab: Tab = {
  id: "hparams",
  aliases: ["hparam"],
  label: "HParams",
  order: 90,
  load: () => import("./HParams.svelte"),
};
