import { describe, expect, test } from "vitest";
import type { RunSummary } from "../api/types";
import { makeRun } from "./run_fixture";
import { sortRuns } from "./run_order";

const names = (runs: RunSummary[]) => runs.map((run) => run.name);

describe("the order of runs", () => {
  test("numbers in names are compared as numbers", () => {
    expect(names(sortRuns([makeRun("run10"), makeRun("run2")], "name", false))).toEqual(["run2", "run10"]);
  });

  test("descending by health, the worst run comes first and undiagnosed runs last", () => {
    const runs = [makeRun("a", { status: "ok" }), makeRun("b"), makeRun("c", { status: "critical" })];
    expect(names(sortRuns(runs, "status", true))).toEqual(["c", "a", "b"]);
  });

  test("by column, missing values come last in both directions", () => {
    const values = new Map<string, unknown>([
      ["a", 3],
      ["b", null],
      ["c", 1],
    ]);
    const runs = [makeRun("a"), makeRun("b"), makeRun("c")];
    expect(names(sortRuns(runs, "column:lr", false, values))).toEqual(["c", "a", "b"]);
    expect(names(sortRuns(runs, "column:lr", true, values))).toEqual(["a", "c", "b"]);
  });
});
