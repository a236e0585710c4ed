import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findTab, tabForTag, TABS } from "./registry";

test("every folder declares a tab with a name and position of its own", () => {
  const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.every(({ name }) => existsSync(join(import.meta.dirname, name, "index.ts")))).toBe(true);
  expect(TABS.map((tab) => tab.id).sort()).toEqual(folders.map((folder) => folder.name).sort());
  expect(new Set(TABS.map((tab) => tab.order)).size).toBe(TABS.length);
});

test("TensorBoard's names of tabs are known", () => {
  expect(["time_series", "custom_scalars", "graphs", "hparam"].map(findTab)).toEqual([
    "timeseries",
    "scalars",
    "graph",
    "hparams",
  ]);
  expect(findTab("nonsense")).toBeNull();
});

test("a tag opens in the tab for its kind of value", () => {
  const kinds = [["scalar"], ["histogram"], ["image"], ["text"], ["audio"], ["graph"]];
  expect(kinds.map((kind) => tabForTag(kind, "scalars"))).toEqual([
    "scalars",
    "histograms",
    "images",
    "text",
    "audio",
    "scalars",
  ]);
});
