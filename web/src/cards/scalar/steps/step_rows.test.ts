import { expect, test } from "vitest";
import { makeCurve } from "../../../api/columns";
import { sortStepRows, stepRows } from "./step_rows";

const line = (run: string) => ({
  key: run,
  label: run,
  color: "#000000",
  curve: makeCurve(run, "loss", [0], [0]),
  dash: [],
});
const at = (run: string, x: number[], y: number[], extent: [number, number]) =>
  [run, { ...makeCurve(run, "loss", x, y), extent }] as const;

test("the value is that of the nearest logged step, and a run that has ended has none", () => {
  const curves = new Map([at("a", [90, 120], [1, 2], [0, 500]), at("b", [50], [3], [0, 50])]);
  const rows = stepRows([line("a"), line("b")], curves, [100, 100], "b");
  expect(rows.map(({ label, step, value }) => [label, step, value])).toEqual([
    ["a", 90, 1],
    ["b", null, null],
  ]);
});

test("a range has its ends, the change and the extremes", () => {
  const curves = new Map([at("a", [10, 20, 30], [4, 1, 2], [0, 50])]);
  expect(stepRows([line("a")], curves, [10, 30], null)[0]).toMatchObject({
    start: 4,
    value: 2,
    change: -2,
    min: 1,
    max: 4,
  });
});

test("rows are compared with the baseline, and sorted with missing values last", () => {
  const curves = new Map([at("a", [5], [1], [0, 9]), at("b", [5], [3], [0, 9])]);
  const rows = stepRows([line("a"), line("b"), line("c")], curves, [5, 5], "a");
  expect(rows.map((row) => row.difference)).toEqual([null, 2, null]);
  expect(sortStepRows(rows, "value", true).map((row) => row.label)).toEqual(["b", "a", "c"]);
  expect(sortStepRows(rows, "value", false).map((row) => row.label)).toEqual(["a", "b", "c"]);
});
