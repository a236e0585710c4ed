// Where runs were restarted. Requested once per run, and again after another restart.

import { getRestarts } from "../../api/client";
import type { Restart, XAxis } from "../../api/types";
import { runIndex } from "../../state/runs.svelte";
import { positionsOf } from "./positions";

const requested = new Map<string, { count: number; restarts: Promise<Restart[]> }>();

/** Where runs were restarted, on an axis. `tag` is the tag of the chart. */
export async function restartPositions(x: XAxis, runs: string[], tag: string): Promise<number[]> {
  const found = await Promise.all(runs.map(restartsOf));
  if (x === "wall") return found.flat().map((restart) => restart.wall_time);
  const places = runs.flatMap((run, i) => found[i]!.map(({ step }) => ({ run, tag, step })));
  const positions: (number | null)[] = await positionsOf(x, places).catch(() => []);
  return positions.filter((position): position is number => position !== null);
}

function restartsOf(run: string): Promise<Restart[]> {
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
