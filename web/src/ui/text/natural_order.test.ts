import { expect, test } from "vitest";
import { compareNames } from "./natural_order";

test("numbers in names are sorted by size, decimals too", () => {
  const sorted = (names: string[]) => names.sort(compareNames);
  expect(sorted(["lr0.001-s1", "lr0.0003-s10", "lr0.0003-s9", "lr0.1"])).toEqual([
    "lr0.0003-s9",
    "lr0.0003-s10",
    "lr0.001-s1",
    "lr0.1",
  ]);
  expect(sorted(["v1.10", "v1.9", "1.2.10", "1.2.9"])).toEqual(["1.2.9", "1.2.10", "v1.9", "v1.10"]);
  expect(sorted(["run.b", "run.a", "Run.a"])).toEqual(["Run.a", "run.a", "run.b"]);
});
