// What the page knows: the runs, their tags, the view, and whether it is live.

import { SvelteMap } from "svelte/reactivity";
import type { Changed, Marks, Report, RunHparams, RunReport, RunSummary, ServerStatus, TagSummary } from "../lib/api";
import { ApiError } from "../lib/api";
import { assignSlots, slotColour, type Theme } from "../lib/colour";
import { filterRuns, groupOf, selectedSet, selectionOf, shownName, sortRuns } from "../lib/runs";
import { stretchesByTag } from "../lib/stretch";
import { naturally } from "../lib/tags";
import { Unsettled } from "../lib/unsettled";
import { formatHash, parseHash, type Tab, type View } from "../lib/view";
import * as client from "../pages/client";
import { habitualView, rememberHabits } from "./settings.svelte";

/** How many runs are drawn at first where there are very many. */
const FIRST_SELECTION = 100;

export type Connection = "connecting" | "live" | "paused" | "lost";

export interface Message {
  id: number;
  text: string;
  advice: string;
  kind: "note" | "error";
}

class App {
  status = $state.raw<ServerStatus | null>(null);
  runs = $state.raw<RunSummary[]>([]);
  tags = $state.raw<TagSummary[]>([]);
  hparams = $state.raw<Record<string, RunHparams>>({});
  /** Reports of diagnosis by run; a run without one is not diagnosed yet. */
  reports = new SvelteMap<string, RunReport>();
  pending = $state.raw<string[]>([]);
  diagnosed = $state(false);
  loaded = $state(false);
  failure = $state.raw<ApiError | null>(null);
  connection = $state<Connection>("connecting");
  /** Grows with each change on the server; `grown` says which runs, or null for any. */
  tick = $state.raw<{ count: number; grown: Set<string> | null }>({ count: 0, grown: null });
  view = $state<View>(habitualView());
  theme = $state<Theme>("light");
  messages = $state.raw<Message[]>([]);
  /** While a report is made, cards draw themselves even where they are out of view. */
  exporting = $state(false);
  fewChosen = $state(false);

  names = $derived(this.runs.map((run) => run.name));
  byName = $derived(new Map(this.runs.map((run) => [run.name, run])));
  private slots = $derived(
    assignSlots(
      [...this.runs]
        .sort((a, b) => (a.started ?? Infinity) - (b.started ?? Infinity) || (a.name < b.name ? -1 : 1))
        .map((run) => run.name),
    ),
  );
  colours = $derived(
    new Map(this.runs.map((run) => [run.name, run.marks?.color || slotColour(this.slots.get(run.name) ?? 0, this.theme)])),
  );
  /** The runs the side bar lists: those the filter lets through, hidden ones left out. */
  listed = $derived(filterRuns(this.runs.filter((run) => !run.marks?.hidden), this.view.runFilter));
  hiddenCount = $derived(this.runs.filter((run) => run.marks?.hidden).length);
  private chosen = $derived(selectedSet(this.view.selection, this.names));
  /** The names of the runs that are drawn, in an order that does not change while they grow. */
  drawn = $derived(
    this.listed
      .filter((run) => this.chosen.has(run.name))
      .map((run) => run.name)
      .sort(naturally),
  );
  drawnSet = $derived(new Set(this.drawn));
  hparamTable = $derived(
    Object.fromEntries(
      Object.entries(this.hparams).map(([run, values]) => [run, { ...flatten(values.config), ...values.hparams }]),
    ) as Record<string, Record<string, unknown>>,
  );
  columnValues = $derived.by(() => {
    const column = this.view.runSort.startsWith("column:") ? this.view.runSort.slice(7) : null;
    return new Map(column === null ? [] : this.runs.map((run) => [run.name, this.cell(run.name, column)]));
  });
  sorted = $derived(sortRuns(this.listed, this.view.runSort, this.view.runSortDown, this.columnValues));
  tagIndex = $derived(new Map(this.tags.map((tag) => [tag.tag, tag])));
  kinds = $derived(new Set(this.tags.flatMap((tag) => tag.kinds)));

  /** What diagnosis shades on the cards of a tag. */
  stretches = $derived(stretchesByTag(this.reports.values(), (run) => this.byName.get(run)?.marks?.expected ?? []));

  /** What a column of the side bar shows: a setting of the run, or a metric's last value. */
  cell(run: string, column: string): unknown {
    const values = this.hparamTable[run];
    if (values && column in values) return values[column];
    return this.hparams[run]?.metrics[column] ?? null;
  }

  isChosen(name: string): boolean {
    return this.chosen.has(name);
  }

  label(name: string): string {
    const run = this.byName.get(name);
    return run ? shownName(run) : name;
  }

  colour(name: string): string {
    return this.colours.get(name) ?? "#888888";
  }

  groupOf(run: RunSummary): string | null {
    return groupOf(run, this.view.groupBy, this.hparamTable);
  }

  choose(names: Set<string>): void {
    this.view.selection = selectionOf(names, this.names);
  }

  toggle(name: string): void {
    this.setChosen([name], !this.chosen.has(name));
  }

  setChosen(names: string[], on: boolean): void {
    const now = new Set(this.chosen);
    for (const name of names) {
      if (on) now.add(name);
      else now.delete(name);
    }
    this.choose(now);
  }

  solo(name: string): void {
    const alone = this.drawn.length === 1 && this.drawn[0] === name;
    this.choose(alone ? new Set(this.names) : new Set([name]));
  }

  togglePin(tag: string): void {
    const pinned = this.view.pinned;
    this.view.pinned = pinned.includes(tag) ? pinned.filter((other) => other !== tag) : [...pinned, tag];
  }

  go(tab: Tab): void {
    this.view.tab = tab;
  }

  say(text: string, advice = "", kind: Message["kind"] = "note"): void {
    const message = { id: performance.now() + Math.random(), text, advice, kind };
    this.messages = [...this.messages.slice(-3), message];
    setTimeout(() => this.dismiss(message.id), kind === "error" ? 12000 : 5000);
  }

  dismiss(id: number): void {
    this.messages = this.messages.filter((message) => message.id !== id);
  }

  complain(error: unknown): void {
    if (error instanceof DOMException && error.name === "AbortError") return;
    if (error instanceof ApiError) this.say(error.what, error.advice, "error");
    else this.say(error instanceof Error ? error.message : String(error), "", "error");
  }

  private unsettled = new Unsettled();
  /** The last message of marks on its way: they go out one after the other, so that none overtakes another. */
  private sending: Promise<void> = Promise.resolve();

  async mark(run: string, marks: Marks): Promise<void> {
    const before = this.byName.get(run)?.marks ?? null;
    // The server keeps exactly what it is given, so what was said before goes along.
    const all: Marks = { ...before, ...marks };
    this.unsettled.say(run, all);
    this.setMarks(run, all);
    const sent = this.sending.then(() => client.putMarks({ [run]: all }));
    this.sending = sent.catch(() => undefined);
    try {
      await sent;
      this.unsettled.settle(run, all);
    } catch (error) {
      if (this.unsettled.drop(run, all)) this.setMarks(run, before);
      this.complain(error);
    }
  }

  private setMarks(run: string, marks: Marks | null): void {
    this.runs = this.runs.map((one) => (one.name === run ? { ...one, marks } : one));
  }

  // ---- loading

  async load(): Promise<void> {
    try {
      const question = this.unsettled.ask();
      const [status, runs, tags] = await Promise.all([client.getStatus(), client.getRuns(), client.getTags()]);
      this.status = status;
      this.takeRuns(question, runs.runs);
      this.tags = tags.tags;
      this.failure = null;
      this.loaded = true;
    } catch (error) {
      this.failure = error instanceof ApiError ? error : new ApiError(0, String(error), "");
    }
  }

  private takeRuns(question: number, answer: RunSummary[]): void {
    const runs = this.unsettled.take(question, answer);
    if (runs === null) return;
    const first = this.runs.length === 0;
    this.runs = runs;
    const selection = this.view.selection;
    if (first && runs.length > 2 * FIRST_SELECTION && "except" in selection && selection.except.length === 0) {
      const newest = [...runs].sort((a, b) => (b.ended ?? 0) - (a.ended ?? 0)).slice(0, FIRST_SELECTION);
      this.choose(new Set(newest.map((run) => run.name)));
      this.fewChosen = true;
    }
  }

  async refresh(changed: Changed | null): Promise<void> {
    try {
      const question = this.unsettled.ask();
      const [runs, tags] = await Promise.all([client.getRuns(), client.getTags()]);
      this.takeRuns(question, runs.runs);
      if (tags.tags.length !== this.tags.length || changed === null || changed.added.length + changed.removed.length > 0) {
        this.tags = tags.tags;
      }
      const grown = changed && changed.added.length === 0 ? new Set(Object.keys(changed.grown)) : null;
      this.tick = { count: this.tick.count + 1, grown };
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 0)) this.complain(error);
    }
  }

  async loadHparams(): Promise<void> {
    try {
      this.hparams = (await client.getHparams()).runs;
    } catch (error) {
      this.complain(error);
    }
  }

  /** Ask for reports, again while some runs are still being read. */
  async diagnose(runs: string[] = []): Promise<void> {
    if (!this.status?.findings) return;
    try {
      for (let turn = 0; turn < 200; turn++) {
        const report: Report = await client.getDiagnosis(runs.length <= 40 ? runs : []);
        for (const run of report.runs) this.reports.set(run.run, run);
        this.pending = report.pending ?? [];
        this.diagnosed = true;
        if (this.pending.length === 0) break;
        await new Promise((resolve) => setTimeout(resolve, Math.min(5000, 500 + turn * 250)));
      }
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 0)) this.complain(error);
    }
  }

  // ---- the URL

  readUrl(): void {
    const said = parseHash(location.hash);
    Object.assign(this.view, { ...habitualView(), ...said });
  }

  /** The address that shows this view to somebody else: everything that differs from the defaults is in it. */
  link(): string {
    return location.href.split("#")[0] + formatHash(this.view);
  }

  writeUrl(): void {
    const hash = formatHash(this.view);
    if (hash === location.hash) return;
    const tabBefore = parseHash(location.hash).tab;
    const url = location.pathname + location.search + hash;
    if (tabBefore !== undefined && tabBefore !== this.view.tab) history.pushState(null, "", url);
    else history.replaceState(null, "", url);
  }

  remember(): void {
    rememberHabits(this.view);
  }
}

function flatten(config: Record<string, unknown>, prefix = ""): Record<string, unknown> {
  const flat: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(config ?? {})) {
    if (value !== null && typeof value === "object" && !Array.isArray(value)) {
      Object.assign(flat, flatten(value as Record<string, unknown>, `${prefix}${key}.`));
    } else {
      flat[prefix + key] = value;
    }
  }
  return flat;
}

export const app = new App();
