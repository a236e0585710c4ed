// Where runs were restarted. Requested once per run, and again after another restart.

import { getRestarts } from "../../api/client";
import type { Restart } from "../../api/types";
import { runIndex } from "../../state/runs.svelte";

const requested = new Map<string, { count: number; restarts: Promise<Restart[]> }>();

export function restartsOf(run: string): Promise<Restart[]> {
  const count = runIndex.byName.get(run)?.restarts ?? 0;
  if (count === 0) return Promise.resolve([]);
  const known = requested.get(run);
  if (known && known.count === count) return known.restarts;
  const restarts = getRestarts(run)
    .then((response) => response.restarts)
    .catch(() => []);
  requested.set(run, { count, restarts });
  return restarts;
}
