// A run for tests.

import type { RunSummary } from "../api/types";

export function makeRun(name: string, more: Partial<RunSummary> = {}): RunSummary {
  return {
    name,
    aliases: [],
    directory: `/logs/${name}`,
    started: 0,
    ended: 0,
    last_step: 0,
    points: 0,
    tags: 0,
    kinds: ["scalar"],
    ranks: [0],
    restarts: 0,
    live: false,
    state: null,
    has_modules: false,
    axis: { kind: "step", columns: [], steps_per_epoch: null, note: "" },
    fork: null,
    status: null,
    marks: null,
    ...more,
  };
}
