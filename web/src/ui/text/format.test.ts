import { describe, expect, test } from "vitest";
import { formatAgo, formatCount, formatDuration, formatPercent, formatValue, plural, withThousands } from "./format";

describe("formatting numbers", () => {
  test.each([
    [0, "0"],
    [0.25, "0.25"],
    [1.23456, "1.235"],
    [12345.678, "12,346"],
    [3e-4, "3e-4"],
    [-0.5, "−0.5"],
    [1.5e9, "1.5e9"],
    [NaN, "NaN"],
    [Infinity, "∞"],
    [-Infinity, "−∞"],
    [null, "–"],
  ])("%s is %s", (value, text) => expect(formatValue(value)).toBe(text));

  test("thousands are separated", () => expect(withThousands(1234567)).toBe("1,234,567"));
  test("counts are short", () => expect([950, 1200, 34e6].map(formatCount)).toEqual(["950", "1.2k", "34M"]));
  test("durations have two units", () => {
    expect([0.25, 3.4, 75, 7500, 90000].map(formatDuration)).toEqual(["250ms", "3.4s", "1m 15s", "2h 05m", "1d 01h"]);
  });
  test("recent times are shown as how long ago they were", () => {
    expect(formatAgo(1000, 1030)).toBe("just now");
    expect(formatAgo(1000, 1000 + 7300)).toBe("2 h ago");
  });
  test("a small fraction is not shown as zero", () =>
    expect([0, 0.004, 0.86].map(formatPercent)).toEqual(["0%", "<1%", "86%"]));
  test("nouns are singular or plural", () => expect([plural(1, "run"), plural(2, "run")]).toEqual(["1 run", "2 runs"]));
});
