// The curves of a scalar card: loaded when the card comes near the view, and updated as runs grow.

import { untrack } from "svelte";
import type { Curve } from "../../../api/columns";
import type { Statistic } from "../../../api/types";
import { fetchGroups, fetchWindow, type WindowOptions } from "../../../charts/window_requests";
import { updates } from "../../../state/refresh.svelte";
import type { GroupBy } from "../../../state/view/view";

/** Sliders and wheels change the request many times per second. */
const DEBOUNCE_MS = 60;

export type Grouping = Exclude<GroupBy, { kind: "none" }>;

export interface CurveRequest {
  tags: string[];
  /** The runs to load for each tag. */
  runsByTag: string[][];
  options: Omit<WindowOptions, "runs">;
  grouping: Grouping | null;
  statistic: Statistic;
}

/** Create it while a component is set up. */
export class ScalarCurves {
  /** Curves by tag and run, or tag and group. */
  curves = $state.raw<Map<string, Curve>>(new Map());
  loaded = $state(false);
  failed = $state<string | null>(null);
  #request: () => CurveRequest;
  /** The latest request, as text; empty if it failed. */
  #requested = "";
  /** Grows with each complete load, so that late responses can be dropped. */
  #generation = 0;
  /** Runs that have grown since they were loaded; null for all. */
  #outdated: Set<string> | null = new Set();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(request: () => CurveRequest, active: () => boolean) {
    this.#request = request;
    $effect(() => {
      const key = JSON.stringify(request());
      if (!active() || key === this.#requested) return;
      const first = this.#requested === "";
      untrack(() => {
        clearTimeout(this.#timer);
        if (first) void this.#load(key);
        else this.#timer = setTimeout(() => void this.#load(key), DEBOUNCE_MS);
      });
    });
    // What is still to come is not for a card that is gone.
    $effect(() => () => {
      clearTimeout(this.#timer);
      this.#generation++;
    });
    $effect(() => {
      const { count, grown } = updates.latest;
      if (count === 0) return;
      untrack(() => {
        if (grown === null || this.#outdated === null) this.#outdated = null;
        else for (const run of grown) this.#outdated.add(run);
        if (active() && this.loaded) void this.#update();
      });
    });
    $effect(() => {
      if (active() && this.loaded) untrack(() => void this.#update());
    });
  }

  retry(): void {
    this.failed = null;
    void this.#load(JSON.stringify(this.#request()));
  }

  /** Loads all curves with some options changed, without showing them. */
  fetchAll(change: Partial<CurveRequest["options"]>): Promise<Curve[]> {
    return this.#fetch(() => true, { ...change, neighbors: false });
  }

  async #fetch(keep: (run: string) => boolean, change: Partial<CurveRequest["options"]> = {}): Promise<Curve[]> {
    const { tags, runsByTag, grouping, statistic, ...request } = this.#request();
    const options = { ...request.options, ...change };
    const responses = await Promise.all(
      tags.map((tag, index) => {
        const query = { ...options, runs: runsByTag[index]!.filter(keep) };
        return grouping
          ? fetchGroups(tag, query, { [grouping.kind]: grouping.value }, statistic)
          : fetchWindow(tag, query);
      }),
    );
    return responses.flat();
  }

  async #load(key: string): Promise<void> {
    this.#requested = key;
    const generation = ++this.#generation;
    this.#outdated = new Set();
    try {
      const curves = await this.#fetch(() => true);
      if (generation !== this.#generation) return;
      this.curves = new Map(curves.map((curve) => [curveKey(curve), curve]));
      this.failed = null;
      this.loaded = true;
    } catch (error) {
      if (generation !== this.#generation) return;
      this.#requested = "";
      this.failed = error instanceof Error ? error.message : String(error);
    }
  }

  /** Loads the curves that have grown. */
  async #update(): Promise<void> {
    const outdated = this.#outdated;
    this.#outdated = new Set();
    if (outdated !== null && outdated.size === 0) return;
    const request = this.#request();
    if (outdated === null || request.grouping) return this.#load(JSON.stringify(request));
    const generation = this.#generation;
    try {
      const grown = await this.#fetch((run) => outdated.has(run));
      if (generation !== this.#generation) return;
      const curves = new Map(this.curves);
      for (const curve of grown) curves.set(curveKey(curve), curve);
      this.curves = curves;
    } catch {
      // The top bar shows that the connection is lost. The next update tries again.
      for (const run of outdated) (this.#outdated ??= new Set()).add(run);
    }
  }
}

function curveKey(curve: Curve): string {
  return `${curve.tag}\n${curve.group ?? curve.run}`;
}
