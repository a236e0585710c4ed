import { describe, expect, test } from "vitest";
import type { Severity } from "./api";
import { joined } from "./stretch";

const stretch = (severity: Severity, from: number, to: number) => ({ run: "r", slug: "s", summary: "", severity, from, to });

describe("stretches of a chart", () => {
  test("of one severity are joined where they overlap", () => {
    expect(joined([stretch("warning", 5, 9), stretch("warning", 0, 6), stretch("warning", 20, 21)])).toEqual([
      { from: 0, to: 9, severity: "warning" },
      { from: 20, to: 21, severity: "warning" },
    ]);
  });

  test("give way to graver ones", () => {
    expect(joined([stretch("info", 0, 100), stretch("critical", 40, 60), stretch("warning", 50, 80)])).toEqual([
      { from: 40, to: 60, severity: "critical" },
      { from: 60, to: 80, severity: "warning" },
      { from: 0, to: 40, severity: "info" },
      { from: 80, to: 100, severity: "info" },
    ]);
  });

  test("of a single step stay, unless a graver one has it", () => {
    expect(joined([stretch("warning", 7, 7)])).toEqual([{ from: 7, to: 7, severity: "warning" }]);
    expect(joined([stretch("warning", 7, 7), stretch("critical", 0, 9)])).toEqual([{ from: 0, to: 9, severity: "critical" }]);
  });
});
