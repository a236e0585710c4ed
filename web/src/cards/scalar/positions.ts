// Where steps are on other axes. Requested once per step.

import { getPositions } from "../../api/client";
import type { XAxis } from "../../api/types";

export interface Place {
  run: string;
  tag: string;
  step: number;
}

const known = new Map<string, Promise<number | null>>();

/** The x of each place; null if it has none on this axis. */
export async function positionsOf(x: XAxis, places: Place[]): Promise<(number | null)[]> {
  if (x === "step") return places.map((place) => place.step);
  const missing = places.filter((place) => !known.has(keyOf(x, place)));
  if (missing.length > 0) {
    const response = getPositions({ x, places: missing });
    missing.forEach((place, i) => {
      const key = keyOf(x, place);
      const position = response.then((found) => found[i] ?? null);
      known.set(key, position);
      position.catch(() => known.delete(key));
    });
  }
  return Promise.all(places.map((place) => known.get(keyOf(x, place)) ?? null));
}

function keyOf(x: XAxis, { run, tag, step }: Place): string {
  return [x, run, tag, step].join("\n");
}
