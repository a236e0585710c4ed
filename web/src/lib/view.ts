// The whole view as a URL's hash, in TensorBoard's form and ours.

import type { Smoother, Statistic, XKind } from "./api";
import type { GroupBy, RunSort, Selection } from "./runs";

export const TABS = [
  "health",
  "scalars",
  "timeseries",
  "distributions",
  "histograms",
  "text",
  "images",
  "audio",
  "hparams",
  "system",
  "graph",
  "compare",
] as const;
export type Tab = (typeof TABS)[number];

export type TooltipSort = "nearest" | "value" | "name";

export interface View {
  tab: Tab | null;
  runFilter: string;
  tagFilter: string;
  selection: Selection;
  smoothing: number;
  smoother: Smoother;
  x: XKind;
  logX: boolean;
  logY: boolean;
  ignoreOutliers: boolean;
  orphans: boolean;
  syncZoom: boolean;
  zoom: [number, number] | null;
  tooltipSort: TooltipSort;
  findings: boolean;
  bands: boolean;
  pinned: string[];
  /** Cards that draw several tags together. */
  overlays: string[][];
  full: string | null;
  groupBy: GroupBy;
  statistic: Statistic;
  runSort: RunSort;
  runSortDown: boolean;
  /** The run a tab is about: Health, Graph. */
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
  ignoreOutliers: false,
  orphans: false,
  syncZoom: false,
  zoom: null,
  tooltipSort: "nearest",
  findings: true,
  bands: false,
  pinned: [],
  overlays: [],
  full: null,
  groupBy: { kind: "none" },
  statistic: "mean-sd",
  runSort: "name",
  runSortDown: false,
  run: null,
  compare: [],
};

// TensorBoard's names of its tabs, where they differ from ours.
const TAB_ALIASES: Record<string, Tab> = {
  time_series: "timeseries",
  "custom_scalars": "scalars",
  graphs: "graph",
  hparam: "hparams",
  "whats-wrong": "health",
};

const X_ALIASES: Record<string, XKind> = { step: "step", relative: "relative", wall: "wall", wall_time: "wall", wall_clock: "wall" };

/** What a hash says; what it leaves out is left out. Never throws: a broken part is passed over. */
export function parseHash(hash: string): Partial<View> {
  const view: Partial<View> = {};
  const parts = hash.replace(/^#\/?/, "").split("&").filter(Boolean);
  for (const part of parts) {
    const equals = part.indexOf("=");
    if (equals < 0) {
      const name = decode(part).toLowerCase();
      const tab = TAB_ALIASES[name] ?? (TABS as readonly string[]).find((known) => known === name);
      if (tab) view.tab = tab as Tab;
      continue;
    }
    readPart(view, part.slice(0, equals), decode(part.slice(equals + 1)));
  }
  return view;
}

function readPart(view: Partial<View>, key: string, value: string): void {
  switch (key) {
    case "regexInput":
    case "runFilter":
      view.runFilter = value;
      break;
    case "tagFilter":
    case "tagRegex":
      view.tagFilter = value;
      break;
    case "smoothing":
    case "_smoothingWeight":
      if (Number.isFinite(Number(value))) view.smoothing = Math.max(0, Math.min(0.999, Number(value)));
      break;
    case "smoother":
      if (["debiased", "time-weighted", "gaussian", "running-mean"].includes(value)) view.smoother = value as Smoother;
      break;
    case "x":
    case "_xType":
      if (X_ALIASES[value]) view.x = X_ALIASES[value];
      break;
    case "logX":
      view.logX = isYes(value);
      break;
    case "logY":
      view.logY = isYes(value);
      break;
    case "ignoreOutliers":
    case "_ignoreYOutliers":
      view.ignoreOutliers = isYes(value);
      break;
    case "orphans":
      view.orphans = isYes(value);
      break;
    case "syncZoom":
      view.syncZoom = isYes(value);
      break;
    case "zoom": {
      const [from, to] = value.split(",").map(Number);
      if (Number.isFinite(from) && Number.isFinite(to)) view.zoom = [from!, to!];
      break;
    }
    case "tooltip":
      if (["nearest", "value", "name"].includes(value)) view.tooltipSort = value as TooltipSort;
      break;
    case "findings":
      view.findings = isYes(value);
      break;
    case "bands":
      view.bands = isYes(value);
      break;
    case "pinned":
      view.pinned = texts(value);
      break;
    case "pinnedCards":
      // TensorBoard's: [{"plugin": "scalars", "tag": "loss"}].
      view.pinned = list(value).flatMap((card) =>
        typeof card === "object" && card !== null && "tag" in card ? [String(card.tag)] : [],
      );
      break;
    case "overlays":
      view.overlays = list(value).flatMap((tags) => (Array.isArray(tags) ? [tags.map(String)] : []));
      break;
    case "full":
      view.full = value;
      break;
    case "runs":
      view.selection = { only: texts(value) };
      break;
    case "except":
      view.selection = { except: texts(value) };
      break;
    case "runSelectionState": {
      // TensorBoard's: base64 of {"run": true | false}.
      try {
        const state = JSON.parse(atob(value)) as Record<string, boolean>;
        view.selection = { except: Object.keys(state).filter((name) => !state[name]) };
      } catch {
        // A broken state selects nothing in particular.
      }
      break;
    }
    case "groupRegex":
      view.groupBy = { kind: "regex", value };
      break;
    case "groupHparam":
      view.groupBy = { kind: "hparam", value };
      break;
    case "statistic":
      if (["mean-sd", "mean-se", "mean-95", "median-range"].includes(value)) view.statistic = value as Statistic;
      break;
    case "sort": {
      view.runSortDown = value.startsWith("-");
      view.runSort = value.replace(/^-/, "") as RunSort;
      break;
    }
    case "run":
      view.run = value;
      break;
    case "compare":
      view.compare = texts(value);
      break;
  }
}

/** A hash that says how a view differs from `base`; the tab always stands first. */
export function formatHash(view: View, base: View = DEFAULT_VIEW): string {
  const parts: string[] = [view.tab ?? "scalars"];
  const add = (key: string, value: string) => parts.push(`${key}=${encode(value)}`);
  if (view.runFilter !== "") add("regexInput", view.runFilter);
  if (view.tagFilter !== "") add("tagFilter", view.tagFilter);
  if (view.smoothing !== base.smoothing) add("smoothing", String(view.smoothing));
  if (view.smoother !== base.smoother) add("smoother", view.smoother);
  if (view.x !== base.x) add("x", view.x);
  for (const key of ["logX", "logY", "ignoreOutliers", "orphans", "syncZoom", "findings", "bands"] as const) {
    if (view[key] !== base[key]) add(key, view[key] ? "1" : "0");
  }
  if (view.zoom) add("zoom", view.zoom.map((v) => +v.toPrecision(12)).join(","));
  if (view.tooltipSort !== base.tooltipSort) add("tooltip", view.tooltipSort);
  if (view.pinned.length > 0) add("pinned", JSON.stringify(view.pinned));
  if (view.overlays.length > 0) add("overlays", JSON.stringify(view.overlays));
  if (view.full !== null) add("full", view.full);
  if ("only" in view.selection) add("runs", JSON.stringify(view.selection.only));
  else if (view.selection.except.length > 0) add("except", JSON.stringify(view.selection.except));
  if (view.groupBy.kind === "regex" && view.groupBy.value) add("groupRegex", view.groupBy.value);
  if (view.groupBy.kind === "hparam" && view.groupBy.value) add("groupHparam", view.groupBy.value);
  if (view.statistic !== base.statistic) add("statistic", view.statistic);
  if (view.runSort !== base.runSort || view.runSortDown !== base.runSortDown) {
    add("sort", (view.runSortDown ? "-" : "") + view.runSort);
  }
  if (view.run !== null) add("run", view.run);
  if (view.compare.length > 0) add("compare", JSON.stringify(view.compare));
  return `#${parts.join("&")}`;
}

function isYes(value: string): boolean {
  return value === "1" || value === "true";
}

function list(value: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(value);
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}

function texts(value: string): string[] {
  return list(value).map(String);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Percent-encoding that leaves the marks of paths and expressions readable. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/%2F/g, "/").replace(/%3A/g, ":").replace(/%2C/g, ",");
}
