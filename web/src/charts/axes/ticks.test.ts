import { describe, expect, test } from "vitest";
import { durationLabel, niceTicks, tickLabels } from "./ticks";

describe("tick labels", () => {
  test("neighboring labels differ", () => {
    expect(tickLabels([47500, 50000, 52500])).toEqual(["47.5k", "50.0k", "52.5k"]);
    expect(tickLabels([0, 0.05, 0.1])).toEqual(["0", "0.05", "0.10"]);
    expect(tickLabels([-2.5, 0, 2.5])).toEqual(["−2.5", "0", "2.5"]);
    expect(tickLabels([3.1e10, 3.12e10])).toEqual(["31.0G", "31.2G"]);
  });
  test("very small values keep their exponent", () => expect(tickLabels([1e-5, 2e-5])).toEqual(["1e-5", "2e-5"]));
  test("steps that are close together get different labels", () =>
    expect(tickLabels([1250, 1300])).toEqual(["1250", "1300"]));
  test("large steps are abbreviated", () => expect(tickLabels([20000, 40000])).toEqual(["20k", "40k"]));
  test("millions are millions", () =>
    expect(tickLabels([500_000, 1_000_000, 1_500_000, 2_000_000])).toEqual(["0.5M", "1.0M", "1.5M", "2.0M"]));
  test("labels tell neighbors apart far from zero and at any size", () => {
    expect(tickLabels([0.9999999, 1, 1.0000001])).toEqual(["0.9999999", "1.0000000", "1.0000001"]);
    expect(tickLabels([1e-30, 1.5e-30])).toEqual(["1.0e-30", "1.5e-30"]);
    expect(tickLabels([2e38, 3e38])).toEqual(["2e38", "3e38"]);
  });
  test("labels of a logarithmic axis are exact on their own", () =>
    expect([niceTicks([1e-5, 1e10], true, 5).labels, niceTicks([0.4, 6], true, 6).labels]).toEqual([
      ["0.001", "1", "1k", "1M", "1G"],
      ["0.5", "1", "2", "5"],
    ]));
  test("durations leave out zero parts", () =>
    expect([7200, 7500, 90].map(durationLabel)).toEqual(["2h", "2h 05m", "1m 30s"]));
});

test("nice ticks are round and within the range", () => {
  expect(niceTicks([0, 10], false, 5).values).toEqual([0, 2, 4, 6, 8, 10]);
  expect(niceTicks([1, 1000], true, 5).values).toEqual([1, 10, 100, 1000]);
});

test("a label is the value it stands for, and ticks end, on every range", () => {
  const units: Record<string, number> = { k: 1e3, M: 1e6, G: 1e9, T: 1e12 };
  const valueOf = (label: string) =>
    Number(label.replace("−", "-").replace(/[kMGT]$/, "")) * (units[label.slice(-1)] ?? 1);
  for (let power = -40; power <= 38; power++) {
    for (const mantissa of [1, 1.37, 4.99, 8.5367, 9.51, 9.7, 9.9999]) {
      for (const width of [1e-7, 1e-3, 0.3, 5, 1e6]) {
        for (const log of [true, false]) {
          const from = Number(`${mantissa}e${power}`);
          const range: [number, number] = [from, from * (1 + width)];
          const { values: ticks, labels } = niceTicks(range, log, 6);
          expect(ticks.length).toBeLessThanOrEqual(25);
          expect(new Set(labels).size).toBe(ticks.length);
          ticks.forEach((tick, i) => {
            expect(Math.abs(valueOf(labels[i]!) - tick)).toBeLessThanOrEqual(
              Math.max((range[1] - range[0]) * 0.01, 1e-12 * tick),
            );
          });
        }
      }
    }
  }
});
