// The user's own cards as text: in URLs and in saved views.

import type { XAxis } from "../../api/types";
import type { ChartPanel, GroupBy, Panel } from "./view";

/** Cards that only overlay tags, as earlier links have them: a list of lists of tags. */
export function parseOverlays(overlays: unknown[]): Panel[] {
  return overlays.flatMap((tags) => (Array.isArray(tags) ? [{ tags: tags.map(String) }] : []));
}

export function parsePanels(items: unknown[]): Panel[] {
  return items.flatMap((item): Panel[] => {
    if (typeof item !== "object" || item === null) return [];
    const { text, tags, title, x, groupBy } = item as Record<string, unknown>;
    if (typeof text === "string") return [{ text }];
    if (!Array.isArray(tags) || tags.length === 0) return [];
    const panel: ChartPanel = { tags: tags.map(String) };
    if (typeof title === "string" && title !== "") panel.title = title;
    if (isAxis(x)) panel.x = x;
    if (isGroupBy(groupBy)) panel.groupBy = groupBy;
    return [panel];
  });
}

/** The part of the URL that has the cards: the short form of earlier links, if that says it all. */
export function formatPanels(panels: Panel[]): [key: string, value: string] {
  const plain = panels.every((panel) => Object.keys(panel).join() === "tags");
  if (plain) return ["overlays", JSON.stringify((panels as ChartPanel[]).map((panel) => panel.tags))];
  return ["panels", JSON.stringify(panels)];
}

/** The key of a card among the others: its tags, and what else makes it a card of its own. */
export function panelKey({ tags, x, groupBy }: ChartPanel): string {
  const more = [x, groupBy && JSON.stringify(groupBy)].filter((part) => part !== undefined);
  return [...tags, ...more].join("\n");
}

function isAxis(value: unknown): value is XAxis {
  return typeof value === "string" && (["step", "relative", "wall"].includes(value) || /^tag:./.test(value));
}

function isGroupBy(value: unknown): value is GroupBy {
  if (typeof value !== "object" || value === null) return false;
  const { kind, value: by } = value as Record<string, unknown>;
  return kind === "none" || ((kind === "regex" || kind === "hparam") && typeof by === "string");
}
