// All tabs. A tab is a folder with an index.ts that exports `tab`; nothing else needs to be edited to add one.

import type { Tab } from "./tab";

const declared = import.meta.glob<Tab>("./*/index.ts", { eager: true, import: "tab" });

/** The tabs in the order of the top bar. */
export const TABS: Tab[] = Object.values(declared).sort((a, b) => a.order - b.order);

const byName = new Map<string, Tab>();
for (const tab of TABS) {
  for (const name of [tab.id, ...(tab.aliases ?? [])]) {
    const other = byName.get(name);
    if (other) throw new Error(`Two tabs have the name "${name}": ${other.label} and ${tab.label}.`);
    byName.set(name, tab);
  }
}

/** The id of the tab with a name in a URL. */
export function findTab(name: string): string | null {
  return byName.get(name)?.id ?? null;
}

export function tabById(id: string): Tab {
  return byName.get(id) ?? TABS[0]!;
}

/** The tab to open the page on. */
export function firstTab(): string {
  return (TABS.find((tab) => tab.mayOpenFirst?.()) ?? TABS[0]!).id;
}

/** The tabs with something to show, and the open one. */
export function tabsWithData(open: string): Tab[] {
  return TABS.filter((tab) => tab.id === open || (tab.hasData?.() ?? true));
}

/** The tab that shows tags with values of these kinds. */
export function tabForTag(kinds: string[], fallback: string): string {
  return TABS.find((tab) => tab.showsTags?.(kinds))?.id ?? fallback;
}
