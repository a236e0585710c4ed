// The view: what the page shows and how. All of it is in the URL.

import type { Smoother, Statistic, XAxis } from "../../api/types";
import type { Selection } from "./selection";

export type RunSort = "name" | "started" | "status" | "last_step" | `column:${string}`;
export type GroupBy = { kind: "none" } | { kind: "regex"; value: string } | { kind: "hparam"; value: string };

/** What one card shows differently from the others. */
export interface CardView {
  /** The range of x, if cards zoom separately. */
  x?: [number, number];
  y?: [number, number];
  logY?: boolean;
  /** Whether outliers are drawn. */
  outliers?: boolean;
}

/** A card that the user put together: tags on one chart, with its own axis and groups if it has any, or text. */
export type Panel =
  | { tags: string[]; title?: string; x?: XAxis; groupBy?: GroupBy }
  /** Markdown. */
  | { text: string };
export type ChartPanel = Extract<Panel, { tags: string[] }>;

/** The tab that is shown if the URL names none. */
export const FALLBACK_TAB = "scalars";

export interface View {
  /** The id of the open tab; null until one is chosen. */
  tab: string | null;
  runFilter: string;
  tagFilter: string;
  selection: Selection;
  smoothing: number;
  smoother: Smoother;
  x: XAxis;
  logX: boolean;
  logY: boolean;
  ignoreOutliers: boolean;
  /** Whether points that a restart replaced are drawn. */
  orphans: boolean;
  syncZoom: boolean;
  /** The range of x on all cards, if they zoom together. */
  zoom: [number, number] | null;
  tooltipSort: "nearest" | "value" | "name";
  /** Whether findings are shaded on charts. */
  findings: boolean;
  /** Whether bands of healthy and unhealthy values are drawn. */
  bands: boolean;
  pinned: string[];
  /** The user's own cards, in their order. */
  panels: Panel[];
  /** The cards that differ from the others, by their tags joined with line breaks. */
  cards: Record<string, CardView>;
  /** The card that is open at full size. */
  full: string | null;
  groupBy: GroupBy;
  statistic: Statistic;
  /** The run that the others are compared with. It is always drawn. */
  baseline: string | null;
  /** Whether charts draw the differences from the baseline. */
  difference: boolean;
  /** The first and last selected step, whose values are in a table below each chart; null if none is selected. */
  steps: [number, number] | null;
  runSort: RunSort;
  runSortDown: boolean;
  /** The run that a tab shows: Health, Graph. */
  run: string | null;
  compare: string[];
}

export const DEFAULT_VIEW: View = {
  tab: null,
  runFilter: "",
  tagFilter: "",
  selection: { except: [] },
  smoothing: 0.6,
  smoother: "debiased",
  x: "step",
  logX: false,
  logY: false,
  ignoreOutliers: true,
  orphans: false,
  syncZoom: false,
  zoom: null,
  tooltipSort: "nearest",
  findings: true,
  bands: false,
  pinned: [],
  panels: [],
  cards: {},
  full: null,
  groupBy: { kind: "none" },
  statistic: "mean-sd",
  baseline: null,
  difference: false,
  steps: null,
  runSort: "started",
  runSortDown: true,
  run: null,
  compare: [],
};
