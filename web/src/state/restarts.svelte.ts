// Where runs were restarted, asked for once a run and again when it grows another restart.

import { getRestarts } from "../pages/client";
import { app } from "./app.svelte";

export interface Restart {
  step: number;
  wall_time: number;
}

const known = new Map<string, { count: number; restarts: Promise<Restart[]> }>();

export function restartsOf(run: string): Promise<Restart[]> {
  const count = app.byName.get(run)?.restarts ?? 0;
  if (count === 0) return Promise.resolve([]);
  const before = known.get(run);
  if (before && before.count === count) return before.restarts;
  const restarts = getRestarts(run)
    .then((answer) => answer.restarts)
    .catch(() => []);
  known.set(run, { count, restarts });
  return restarts;
}
