import { describe, expect, test } from "vitest";
import type { RunSummary } from "../api/types";
import { filterRuns, parseRunFilter } from "./run_filter";
import { makeRun } from "./run_fixture";

const names = (runs: RunSummary[]) => runs.map((run) => run.name);

describe("filtering runs", () => {
  const runs = [makeRun("base"), makeRun("base-test"), makeRun("Other")];

  test("an expression matches anywhere and ignores case", () => {
    expect(names(filterRuns(runs, "BASE"))).toEqual(["base", "base-test"]);
  });

  test("a negative lookahead excludes runs", () => {
    expect(names(filterRuns(runs, "^(?!.*test).*"))).toEqual(["base", "Other"]);
  });

  test("an invalid expression hides nothing", () => {
    expect(filterRuns(runs, "(").length).toBe(3);
  });

  test("names given by users and aliases match too", () => {
    const renamed = makeRun("2026-02-10_012", { marks: { name: "winner" }, aliases: ["x/logs/tensorboard"] });
    expect(filterRuns([renamed], "winner").length).toBe(1);
    expect(filterRuns([renamed], "2026").length).toBe(1);
    expect(filterRuns([renamed], "x/logs").length).toBe(1);
  });
});

describe("filtering runs by user tags", () => {
  const runs = [
    makeRun("base", { marks: { tags: ["good", "paper"] } }),
    makeRun("base-test", { marks: { tags: ["good"] } }),
    makeRun("other", { marks: { tags: ["bad"] } }),
    makeRun("plain"),
  ];

  test("runs are filtered by tag", () => {
    expect(names(filterRuns(runs, "tag:good"))).toEqual(["base", "base-test"]);
    expect(names(filterRuns(runs, "tag:GOOD tag:paper"))).toEqual(["base"]);
    expect(names(filterRuns(runs, "tag:^(good|bad)$"))).toEqual(["base", "base-test", "other"]);
  });

  test("a minus keeps runs without the tag", () => {
    expect(names(filterRuns(runs, "-tag:good"))).toEqual(["other", "plain"]);
    expect(names(filterRuns(runs, "-tag:"))).toEqual(["plain"]);
  });

  test("names and tags can be filtered together", () => {
    expect(names(filterRuns(runs, "tag:good ^(?!.*test).*"))).toEqual(["base"]);
    expect(names(filterRuns(runs, "test tag:good"))).toEqual(["base-test"]);
  });

  test("an expression for names ignores tags", () => {
    expect(names(filterRuns(runs, "good"))).toEqual([]);
    expect(names(filterRuns([makeRun("mytag:good")], "mytag:good"))).toEqual(["mytag:good"]);
  });

  test("an unfinished expression hides nothing and is reported", () => {
    expect(filterRuns(runs, "tag:(").length).toBe(4);
    expect(parseRunFilter("tag:(").error).toContain("Invalid regular expression");
    expect(parseRunFilter("base tag:good").error).toBeNull();
  });
});
