import { describe, expect, test } from "vitest";
import { makeRun } from "./run_fixture";
import { flatRows, groupOf, treeRows } from "./run_rows";

describe("rows of the run list", () => {
  test("runs are grouped by a regex or a setting", () => {
    expect(groupOf(makeRun("base-seed3"), { kind: "regex", value: "^(.*)-seed\\d+" }, {})).toBe("base");
    expect(groupOf(makeRun("other"), { kind: "regex", value: "^(.*)-seed\\d+" }, {})).toBeNull();
    expect(groupOf(makeRun("r"), { kind: "hparam", value: "lr" }, { r: { lr: 0.1 } })).toBe("lr = 0.1");
    const rows = flatRows(
      [makeRun("a-seed0"), makeRun("a-seed1"), makeRun("b")],
      (run) => groupOf(run, { kind: "regex", value: "^(.*)-seed" }, {}),
      new Set(),
    );
    expect(rows.map((row) => row.label)).toEqual(["a", "a-seed0", "a-seed1", "b"]);
  });

  test("a folder with a single folder is merged with it", () => {
    const rows = treeRows([makeRun("exp/a/train"), makeRun("exp/a/val"), makeRun("alone")], new Set());
    expect(rows.map((row) => [row.depth, row.label])).toEqual([
      [0, "exp/a"],
      [1, "train"],
      [1, "val"],
      [0, "alone"],
    ]);
  });

  test("a closed folder hides its runs", () => {
    const rows = treeRows([makeRun("exp/a"), makeRun("exp/b")], new Set(["folder:exp/"]));
    expect(rows.length).toBe(1);
  });
});
