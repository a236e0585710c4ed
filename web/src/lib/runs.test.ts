import { describe, expect, test } from "vitest";
import type { RunSummary } from "./api";
import { filterRuns, flatRows, groupOf, runPatternOf, select, selectedSet, selectionOf, sortRuns, treeRows } from "./runs";

function run(name: string, more: Partial<RunSummary> = {}): RunSummary {
  return {
    name,
    aliases: [],
    directory: `/logs/${name}`,
    started: 0,
    ended: 0,
    last_step: 0,
    points: 0,
    tags: 0,
    kinds: ["scalar"],
    ranks: [0],
    restarts: 0,
    live: false,
    has_modules: false,
    status: null,
    marks: null,
    ...more,
  };
}
const names = (runs: RunSummary[]) => runs.map((one) => one.name);

describe("filtering runs", () => {
  const runs = [run("base"), run("base-test"), run("Other")];

  test("an expression fits anywhere, in either case", () => {
    expect(names(filterRuns(runs, "BASE"))).toEqual(["base", "base-test"]);
  });

  test("a negative look-ahead leaves runs out", () => {
    expect(names(filterRuns(runs, "^(?!.*test).*"))).toEqual(["base", "Other"]);
  });

  test("a broken expression hides nothing", () => {
    expect(filterRuns(runs, "(").length).toBe(3);
  });

  test("the given name and the aliases are found too", () => {
    const renamed = run("2026-02-10_012", { marks: { name: "winner" }, aliases: ["x/logs/tensorboard"] });
    expect(filterRuns([renamed], "winner").length).toBe(1);
    expect(filterRuns([renamed], "2026").length).toBe(1);
    expect(filterRuns([renamed], "x/logs").length).toBe(1);
  });
});

describe("filtering runs by the tags a user gave them", () => {
  const runs = [run("base", { marks: { tags: ["good", "paper"] } }), run("base-test", { marks: { tags: ["good"] } }), run("other", { marks: { tags: ["bad"] } }), run("plain")];

  test("a tag is asked for by its own word", () => {
    expect(names(filterRuns(runs, "tag:good"))).toEqual(["base", "base-test"]);
    expect(names(filterRuns(runs, "tag:GOOD tag:paper"))).toEqual(["base"]);
    expect(names(filterRuns(runs, "tag:^(good|bad)$"))).toEqual(["base", "base-test", "other"]);
  });

  test("runs without a tag are kept on request", () => {
    expect(names(filterRuns(runs, "-tag:good"))).toEqual(["other", "plain"]);
    expect(names(filterRuns(runs, "-tag:"))).toEqual(["plain"]);
  });

  test("names are still filtered beside it", () => {
    expect(names(filterRuns(runs, "tag:good ^(?!.*test).*"))).toEqual(["base"]);
    expect(names(filterRuns(runs, "test tag:good"))).toEqual(["base-test"]);
  });

  test("a name's expression says nothing of tags", () => {
    expect(names(filterRuns(runs, "good"))).toEqual([]);
    expect(names(filterRuns([run("mytag:good")], "mytag:good"))).toEqual(["mytag:good"]);
  });

  test("half an expression hides nothing and is told", () => {
    expect(filterRuns(runs, "tag:(").length).toBe(4);
    expect(runPatternOf("tag:(").error).toContain("Not a regular expression");
    expect(runPatternOf("base tag:good").error).toBeNull();
  });
});

describe("order and groups", () => {
  test("numbers in names count as numbers", () => {
    expect(names(sortRuns([run("run10"), run("run2")], "name", false))).toEqual(["run2", "run10"]);
  });

  test("the worst comes first when sorted by health downwards, the undiagnosed last", () => {
    const runs = [run("a", { status: "ok" }), run("b"), run("c", { status: "critical" })];
    expect(names(sortRuns(runs, "status", true))).toEqual(["c", "a", "b"]);
  });

  test("by a column, what is missing stands last in both directions", () => {
    const values = new Map<string, unknown>([["a", 3], ["b", null], ["c", 1]]);
    const runs = [run("a"), run("b"), run("c")];
    expect(names(sortRuns(runs, "column:lr", false, values))).toEqual(["c", "a", "b"]);
    expect(names(sortRuns(runs, "column:lr", true, values))).toEqual(["a", "c", "b"]);
  });

  test("a regex's group or a setting makes groups", () => {
    expect(groupOf(run("base-seed3"), { kind: "regex", value: "^(.*)-seed\\d+" }, {})).toBe("base");
    expect(groupOf(run("other"), { kind: "regex", value: "^(.*)-seed\\d+" }, {})).toBeNull();
    expect(groupOf(run("r"), { kind: "hparam", value: "lr" }, { r: { lr: 0.1 } })).toBe("lr = 0.1");
    const rows = flatRows([run("a-seed0"), run("a-seed1"), run("b")], (one) => groupOf(one, { kind: "regex", value: "^(.*)-seed" }, {}), new Set());
    expect(rows.map((row) => row.label)).toEqual(["a", "a-seed0", "a-seed1", "b"]);
  });

  test("a tree joins folders that hold one folder only", () => {
    const rows = treeRows([run("exp/a/train"), run("exp/a/val"), run("alone")], new Set());
    expect(rows.map((row) => [row.depth, row.label])).toEqual([
      [0, "exp/a"],
      [1, "train"],
      [1, "val"],
      [0, "alone"],
    ]);
  });

  test("a closed folder hides what is in it", () => {
    const rows = treeRows([run("exp/a"), run("exp/b")], new Set(["folder:exp/"]));
    expect(rows.length).toBe(1);
  });
});

describe("which runs are drawn", () => {
  const all = ["a", "b", "c"];

  test("the shorter way to say it is kept", () => {
    expect(selectionOf(new Set(["a", "b"]), all)).toEqual({ except: ["c"] });
    expect(selectionOf(new Set(["a"]), all)).toEqual({ only: ["a"] });
  });

  test("a new run is drawn where all but some were chosen, and not where only some were", () => {
    expect(selectedSet({ except: ["b"] }, [...all, "new"])).toEqual(new Set(["a", "c", "new"]));
    expect(selectedSet({ only: ["b"] }, [...all, "new"])).toEqual(new Set(["b"]));
  });

  test("switching off and on again is where it was", () => {
    const off = select({ except: [] }, ["b"], false, all);
    expect(select(off, ["b"], true, all)).toEqual({ except: [] });
  });
});
