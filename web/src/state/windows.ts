// Requests for windows, gathered: what all cards in view want within a frame goes out as few questions.

import type { Statistic, WindowQuery } from "../lib/api";
import type { Curve } from "../lib/columns";
import { getGroups, getWindow } from "../pages/client";

export type Options = Omit<WindowQuery, "tags">;

interface Wish {
  tag: string;
  options: Options;
  resolve: (curves: Curve[]) => void;
  reject: (error: unknown) => void;
}

/** Tags a request: many enough that fifty cards are a handful of requests. */
const TAGS_A_REQUEST = 6;
/** Tags of the page's first request, for which the others wait: a chart to look at comes before the others. */
const TAGS_FIRST = 1;
const REQUESTS_AT_ONCE = 3;

let wishes: Wish[] = [];
let scheduled = false;
let asked = false;
let running = 0;
let answers = 0;
const queue: (() => Promise<void>)[] = [];

/** How many requests were answered since the page opened. */
export function answered(): number {
  return answers;
}

/** The curves of one tag. Wishes with the same options made within a frame share a request. */
export function fetchWindow(tag: string, options: Options): Promise<Curve[]> {
  if (options.runs.length === 0) return Promise.resolve([]);
  return new Promise((resolve, reject) => {
    wishes.push({ tag, options, resolve, reject });
    if (!scheduled) {
      scheduled = true;
      setTimeout(send, 8);
    }
  });
}

function send(): void {
  scheduled = false;
  const shares = new Map<string, Wish[]>();
  for (const wish of wishes) {
    const key = JSON.stringify(wish.options);
    const share = shares.get(key);
    if (share) share.push(wish);
    else shares.set(key, [wish]);
  }
  wishes = [];
  for (const share of shares.values()) {
    while (share.length > 0) {
      const part = share.splice(0, asked ? TAGS_A_REQUEST : TAGS_FIRST);
      asked = true;
      queue.push(() => ask(part));
    }
  }
  pump();
}

function pump(): void {
  while (running < (answers === 0 ? 1 : REQUESTS_AT_ONCE) && queue.length > 0) {
    running += 1;
    void queue.shift()!().finally(() => {
      running -= 1;
      answers += 1;
      pump();
    });
  }
}

async function ask(share: Wish[]): Promise<void> {
  try {
    const tags = [...new Set(share.map((wish) => wish.tag))];
    const curves = await getWindow({ ...share[0]!.options, tags });
    for (const wish of share) wish.resolve(curves.filter((curve) => curve.tag === wish.tag));
  } catch (error) {
    for (const wish of share) wish.reject(error);
  }
}

/** A statistic over groups of runs, one curve a group. */
export function fetchGroups(tag: string, options: Options, by: Record<string, string>, statistic: Statistic): Promise<Curve[]> {
  if (options.runs.length === 0) return Promise.resolve([]);
  return getGroups({ ...options, tags: [tag], by, statistic });
}
