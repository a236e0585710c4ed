// Loads runs and tags, and signals the cards when something is new.

import { getStatus, getTags } from "../api/client";
import { ApiError } from "../api/errors";
import type { ServerChange } from "../api/types";
import { showError } from "../ui/messages.svelte";
import { fetchRuns } from "./runs.svelte";
import { serverFailed, serverLoaded } from "./server.svelte";
import { storeTags, tagIndex } from "./tags.svelte";

/** The latest update. `count` grows with each one; `grown` names the runs with new points, or is null for any run. */
class Updates {
  latest = $state.raw<{ count: number; grown: Set<string> | null }>({ count: 0, grown: null });
}

export const updates = new Updates();

/** Loads everything that the page needs at first. */
export async function loadAll(): Promise<void> {
  try {
    const [status, storeRuns, tags] = await Promise.all([getStatus(), fetchRuns(), getTags()]);
    storeRuns();
    storeTags(tags.tags);
    serverLoaded(status);
  } catch (error) {
    serverFailed(error);
  }
}

/** Loads runs and tags again after a change; null means that anything may have changed. */
export async function refresh(change: ServerChange | null): Promise<void> {
  try {
    const [storeRuns, { tags }] = await Promise.all([fetchRuns(), getTags()]);
    storeRuns();
    const newRuns = change === null || change.added.length + change.removed.length > 0;
    if (newRuns || tags.length !== tagIndex.all.length) storeTags(tags);
    const grown = change && change.added.length === 0 ? new Set(Object.keys(change.grown)) : null;
    updates.latest = { count: updates.latest.count + 1, grown };
  } catch (error) {
    // The connection status shows that the server is unreachable.
    if (!(error instanceof ApiError && error.isUnreachable)) showError(error);
  }
}
