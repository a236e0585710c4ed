import { describe, expect, test } from "vitest";
import { formatAgo, formatCount, formatDuration, formatShare, formatValue, plural, withThousands } from "./format";
import { axisMarks, formatSpan } from "./ticks";

describe("numbers for reading", () => {
  test.each([
    [0, "0"],
    [0.25, "0.25"],
    [1.23456, "1.235"],
    [12345.678, "12346"],
    [3e-4, "3e-4"],
    [-0.5, "−0.5"],
    [1.5e9, "1.5e9"],
    [NaN, "NaN"],
    [Infinity, "∞"],
    [-Infinity, "−∞"],
    [null, "–"],
  ])("%s is %s", (value, text) => expect(formatValue(value)).toBe(text));

  test("thousands are set apart", () => expect(withThousands(1234567)).toBe("1\u202f234\u202f567"));
  test("counts are short", () => expect([950, 1200, 34e6].map(formatCount)).toEqual(["950", "1.2k", "34M"]));
  test("stretches of time have two units", () => {
    expect([0.25, 3.4, 75, 7500, 90000].map(formatDuration)).toEqual(["250ms", "3.4s", "1m 15s", "2h 05m", "1d 01h"]);
  });
  test("moments are told as how long ago they were", () => {
    expect(formatAgo(1000, 1030)).toBe("just now");
    expect(formatAgo(1000, 1000 + 7300)).toBe("2 h ago");
  });
  test("small shares are not nothing", () => expect([0, 0.004, 0.86].map(formatShare)).toEqual(["0%", "<1%", "86%"]));
  test("one is not many", () => expect([plural(1, "run"), plural(2, "run")]).toEqual(["1 run", "2 runs"]));
});

describe("marks of axes", () => {
  test("neighbours are told apart", () => {
    expect(axisMarks([47500, 50000, 52500])).toEqual(["47.5k", "50.0k", "52.5k"]);
    expect(axisMarks([0, 0.05, 0.1])).toEqual(["0", "0.05", "0.10"]);
    expect(axisMarks([-2.5, 0, 2.5])).toEqual(["−2.5", "0", "2.5"]);
    expect(axisMarks([3.1e10, 3.12e10])).toEqual(["31.0G", "31.2G"]);
  });
  test("tiny values keep their exponent", () => expect(axisMarks([1e-5, 2e-5])).toEqual(["1e-5", "2e-5"]));
  test("steps close together are told apart", () => expect(axisMarks([1250, 1300])).toEqual(["1250", "1300"]));
  test("large steps are short", () => expect(axisMarks([20000, 40000])).toEqual(["20k", "40k"]));
  test("spans of time leave out what is zero", () => expect([7200, 7500, 90].map(formatSpan)).toEqual(["2h", "2h 05m", "1m 30s"]));
});
