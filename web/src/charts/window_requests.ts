// Requests for curves. What all visible cards need within a short time is combined into a few requests.

import { getGroups, getWindow } from "../api/client";
import type { Curve } from "../api/columns";
import type { Statistic, WindowQuery } from "../api/types";

export type WindowOptions = Omit<WindowQuery, "tags">;

interface PendingRequest {
  tag: string;
  options: WindowOptions;
  resolve: (curves: Curve[]) => void;
  reject: (error: unknown) => void;
}

const MAX_TAGS = 6;
/** The first request has a single tag, and the others wait for it: one chart on the screen early beats several later. */
const MAX_TAGS_OF_FIRST = 1;
const MAX_CONCURRENT = 3;
const COLLECT_MS = 8;

let pending: PendingRequest[] = [];
let scheduled = false;
let firstSent = false;
let running = 0;
let finished = 0;
const queue: (() => Promise<void>)[] = [];

/** How many requests have finished since the page was opened. */
export function finishedRequests(): number {
  return finished;
}

/** The curves of one tag. Calls with equal options that are made at about the same time share a request. */
export function fetchWindow(tag: string, options: WindowOptions): Promise<Curve[]> {
  if (options.runs.length === 0) return Promise.resolve([]);
  return new Promise((resolve, reject) => {
    pending.push({ tag, options, resolve, reject });
    if (!scheduled) {
      scheduled = true;
      if (firstSent) setTimeout(sendPending, COLLECT_MS);
      else queueMicrotask(sendPending);
    }
  });
}

function sendPending(): void {
  scheduled = false;
  const byOptions = new Map<string, PendingRequest[]>();
  for (const request of pending) {
    // An expression has a request of its own: if it is wrong, the server refuses the whole request.
    const key = (request.tag.startsWith("=") ? request.tag : "") + JSON.stringify(request.options);
    const batch = byOptions.get(key);
    if (batch) batch.push(request);
    else byOptions.set(key, [request]);
  }
  pending = [];
  for (const batch of byOptions.values()) {
    while (batch.length > 0) {
      const part = batch.splice(0, firstSent ? MAX_TAGS : MAX_TAGS_OF_FIRST);
      firstSent = true;
      queue.push(() => send(part));
    }
  }
  startQueued();
}

function startQueued(): void {
  while (running < (finished === 0 ? 1 : MAX_CONCURRENT) && queue.length > 0) {
    running += 1;
    void queue.shift()!().finally(() => {
      running -= 1;
      finished += 1;
      startQueued();
    });
  }
}

async function send(batch: PendingRequest[]): Promise<void> {
  try {
    const tags = [...new Set(batch.map((request) => request.tag))];
    const curves = await getWindow({ ...batch[0]!.options, tags });
    for (const request of batch) request.resolve(curves.filter((curve) => curve.tag === request.tag));
  } catch (error) {
    for (const request of batch) request.reject(error);
  }
}

/** A statistic over groups of runs, one curve per group. */
export function fetchGroups(
  tag: string,
  options: WindowOptions,
  by: Record<string, string>,
  statistic: Statistic,
): Promise<Curve[]> {
  if (options.runs.length === 0) return Promise.resolve([]);
  return getGroups({ ...options, tags: [tag], by, statistic });
}
