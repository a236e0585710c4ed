import { expect, test } from "vitest";
import { makeCurve } from "../../../api/columns";
import { legendEntries } from "./legend";
import { singleValues } from "./single_values";

const line = (key: string, values: number[]) => ({
  key,
  label: key,
  color: "#000000",
  curve: makeCurve(
    key,
    "score",
    values.map((_, i) => i),
    values,
  ),
});

function bars(...values: number[][]) {
  const lines = values.map((points, i) => line(`run-${i}`, points));
  return singleValues(legendEntries(lines, null), lines)?.map(({ entry, bar }) => [entry.label, bar]) ?? null;
}

test("bars start at zero, whatever the sign of their values", () => {
  expect(bars([3], [-1])).toEqual([
    ["run-0", { start: 0.25, length: 0.75 }],
    ["run-1", { start: 0, length: 0.25 }],
  ]);
  expect(bars([2], [NaN])).toEqual([
    ["run-0", { start: 0, length: 1 }],
    ["run-1", null],
  ]);
});

test("curves and single runs have no bars", () => {
  expect(bars([3], [1, 2])).toBeNull();
  expect(bars([3])).toBeNull();
});
