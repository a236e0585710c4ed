import { describe, expect, test } from "vitest";
import type { Severity } from "../../api/types";
import { mergeRanges } from "./shading";

const range = (severity: Severity, from: number, to: number) => ({ severity, from, to });

describe("shaded ranges", () => {
  test("ranges of one severity are merged where they overlap", () => {
    expect(mergeRanges([range("warning", 5, 9), range("warning", 0, 6), range("warning", 20, 21)])).toEqual([
      { from: 0, to: 9, severity: "warning" },
      { from: 20, to: 21, severity: "warning" },
    ]);
  });

  test("a more severe range replaces the others", () => {
    expect(mergeRanges([range("info", 0, 100), range("critical", 40, 60), range("warning", 50, 80)])).toEqual([
      { from: 40, to: 60, severity: "critical" },
      { from: 60, to: 80, severity: "warning" },
      { from: 0, to: 40, severity: "info" },
      { from: 80, to: 100, severity: "info" },
    ]);
  });

  test("a range of a single step stays unless a more severe one covers it", () => {
    expect(mergeRanges([range("warning", 7, 7)])).toEqual([{ from: 7, to: 7, severity: "warning" }]);
    expect(mergeRanges([range("warning", 7, 7), range("critical", 0, 9)])).toEqual([
      { from: 0, to: 9, severity: "critical" },
    ]);
  });
});
