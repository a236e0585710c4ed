import { expect, test } from "vitest";
import { compareSettings } from "./settings_diff";

test("settings that differ come first", () => {
  const rows = compareSettings(["a", "b"], { a: { lr: 1, depth: 2 }, b: { lr: 2, depth: 2 } });
  expect(rows.map((row) => [row.name, row.differs])).toEqual([
    ["lr", true],
    ["depth", false],
  ]);
});
