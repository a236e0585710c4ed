// The view as a URL hash, in TensorBoard's format with our additions.

import type { Smoother, Statistic, XAxis } from "../../api/types";
import { formatPanels, parseOverlays, parsePanels } from "./panels";
import { DEFAULT_VIEW, FALLBACK_TAB, type CardView, type RunSort, type View } from "./view";

/** Finds a tab's id by a name in a URL; null if there is no such tab. */
export type FindTab = (name: string) => string | null;

const X_AXES: Record<string, XAxis> = {
  step: "step",
  relative: "relative",
  wall: "wall",
  wall_time: "wall",
  wall_clock: "wall",
};

/** The parts of the view that a hash contains. Never throws: invalid parts are ignored. */
export function parseHash(hash: string, findTab: FindTab): Partial<View> {
  const view: Partial<View> = {};
  const parts = hash.replace(/^#\/?/, "").split("&").filter(Boolean);
  for (const part of parts) {
    const equals = part.indexOf("=");
    if (equals < 0) {
      const tab = findTab(decode(part).toLowerCase());
      if (tab !== null) view.tab = tab;
      continue;
    }
    readPart(view, part.slice(0, equals), decode(part.slice(equals + 1)));
  }
  return view;
}

/** The parts of the view in the query of TensorBoard's newer links: `?tagFilter=loss&smoothing=0.8#timeseries`. */
export function parseSearch(search: string): Partial<View> {
  const view: Partial<View> = {};
  for (const [key, value] of new URLSearchParams(search)) readPart(view, key, value);
  return view;
}

/** A query without the parts that `parseSearch` reads. */
export function withoutView(search: string): string {
  const kept = [...new URLSearchParams(search)].filter(([key, value]) => {
    const view: Partial<View> = {};
    readPart(view, key, value);
    return Object.keys(view).length === 0;
  });
  return kept.length > 0 ? `?${new URLSearchParams(kept).toString()}` : "";
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
      if (X_AXES[value]) view.x = X_AXES[value];
      else if (value.startsWith("tag:") && value !== "tag:") view.x = value as XAxis;
      break;
    case "logX":
      view.logX = parseFlag(value);
      break;
    case "logY":
      view.logY = parseFlag(value);
      break;
    case "ignoreOutliers":
    case "_ignoreYOutliers":
      view.ignoreOutliers = parseFlag(value);
      break;
    case "orphans":
      view.orphans = parseFlag(value);
      break;
    case "syncZoom":
      view.syncZoom = parseFlag(value);
      break;
    case "zoom": {
      const [from, to] = value.split(",").map(Number);
      if (Number.isFinite(from) && Number.isFinite(to)) view.zoom = [from!, to!];
      break;
    }
    case "tooltip":
      if (["nearest", "value", "name"].includes(value)) view.tooltipSort = value as View["tooltipSort"];
      break;
    case "findings":
      view.findings = parseFlag(value);
      break;
    case "bands":
      view.bands = parseFlag(value);
      break;
    case "pinned":
      view.pinned = parseTexts(value);
      break;
    case "pinnedCards":
      // TensorBoard's format: [{"plugin": "scalars", "tag": "loss"}].
      view.pinned = parseList(value).flatMap((card) =>
        typeof card === "object" && card !== null && "tag" in card ? [String(card.tag)] : [],
      );
      break;
    case "overlays":
      view.panels = parseOverlays(parseList(value));
      break;
    case "panels":
      view.panels = parsePanels(parseList(value));
      break;
    case "cards":
      view.cards = parseCards(value);
      break;
    case "full":
      view.full = value;
      break;
    case "runs":
      view.selection = { only: parseTexts(value) };
      break;
    case "except":
      view.selection = { except: parseTexts(value) };
      break;
    case "runSelectionState": {
      // TensorBoard's format: base64 of {"run": true | false}.
      try {
        const state = JSON.parse(atob(value)) as Record<string, boolean>;
        view.selection = { except: Object.keys(state).filter((name) => !state[name]) };
      } catch {
        // An invalid state changes nothing.
      }
      break;
    }
    case "runColorGroup":
      // TensorBoard's format: "regex:…", or "run" and "experiment", which do not group.
      if (value.startsWith("regex:")) view.groupBy = { kind: "regex", value: value.slice("regex:".length) };
      break;
    case "groupRegex":
      view.groupBy = { kind: "regex", value };
      break;
    case "groupHparam":
      view.groupBy = { kind: "hparam", value };
      break;
    case "statistic":
      if (["mean-sd", "mean-se", "mean-95", "median-range"].includes(value)) view.statistic = value as Statistic;
      break;
    case "baseline":
      view.baseline = value;
      break;
    case "difference":
      view.difference = parseFlag(value);
      break;
    case "steps": {
      const [first, last = first] = value.split(",").map(Number);
      if (isRange([first, last])) view.steps = [Math.min(first!, last!), Math.max(first!, last!)];
      break;
    }
    case "sort": {
      view.runSortDown = value.startsWith("-");
      view.runSort = value.replace(/^-/, "") as RunSort;
      break;
    }
    case "run":
      view.run = value;
      break;
    case "compare":
      view.compare = parseTexts(value);
      break;
  }
}

/** A hash with everything in which a view differs from the default. The tab comes first. */
export function formatHash(view: View): string {
  const base = DEFAULT_VIEW;
  const parts: string[] = [view.tab ?? FALLBACK_TAB];
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
  if (view.panels.length > 0) add(...formatPanels(view.panels));
  const cards = Object.entries(view.cards);
  if (cards.length > 0) add("cards", JSON.stringify(Object.fromEntries(cards), shortNumber));
  if (view.full !== null) add("full", view.full);
  if ("only" in view.selection) add("runs", JSON.stringify(view.selection.only));
  else if (view.selection.except.length > 0) add("except", JSON.stringify(view.selection.except));
  if (view.groupBy.kind === "regex" && view.groupBy.value) add("groupRegex", view.groupBy.value);
  if (view.groupBy.kind === "hparam" && view.groupBy.value) add("groupHparam", view.groupBy.value);
  if (view.statistic !== base.statistic) add("statistic", view.statistic);
  if (view.baseline !== null) add("baseline", view.baseline);
  if (view.difference) add("difference", "1");
  if (view.steps) add("steps", [...new Set(view.steps)].join(","));
  if (view.runSort !== base.runSort || view.runSortDown !== base.runSortDown) {
    add("sort", (view.runSortDown ? "-" : "") + view.runSort);
  }
  if (view.run !== null) add("run", view.run);
  if (view.compare.length > 0) add("compare", JSON.stringify(view.compare));
  return `#${parts.join("&")}`;
}

function parseFlag(value: string): boolean {
  return value === "1" || value === "true";
}

function parseList(value: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(value);
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}

function parseCards(value: string): Record<string, CardView> {
  const cards: Record<string, CardView> = {};
  try {
    const parsed = JSON.parse(value) as Record<string, Record<string, unknown>>;
    for (const [key, { x, y, logY, outliers }] of Object.entries(parsed)) {
      const card: CardView = {};
      if (isRange(x)) card.x = x;
      if (isRange(y)) card.y = y;
      if (typeof logY === "boolean") card.logY = logY;
      if (typeof outliers === "boolean") card.outliers = outliers;
      if (Object.keys(card).length > 0) cards[key] = card;
    }
  } catch {
    // Invalid parts are ignored.
  }
  return cards;
}

function isRange(value: unknown): value is [number, number] {
  return Array.isArray(value) && value.length === 2 && value.every((bound) => Number.isFinite(bound));
}

function shortNumber(_: string, value: unknown): unknown {
  return typeof value === "number" ? +value.toPrecision(12) : value;
}

function parseTexts(value: string): string[] {
  return parseList(value).map(String);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Percent-encoding that leaves paths and expressions readable. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/%2F/g, "/").replace(/%3A/g, ":").replace(/%2C/g, ",");
}
