import { describe, expect, test } from "vitest";
import { differences, incompleteBeta, repetitionOf, siblingsOf, verdictOf, welch } from "./compare";

describe("beyond the noise of seeds", () => {
  test("Welch's p is that of the tables", () => {
    // scipy.stats.ttest_ind(..., equal_var=False) gives these.
    expect(welch([1, 2, 3, 4], [3, 4, 5, 7])).toBeCloseTo(0.083706964704, 9);
    expect(welch([1.0, 1.1, 0.9], [1.2, 1.4, 1.15])).toBeCloseTo(0.063811151616, 9);
    expect(incompleteBeta(2, 3, 0.4)).toBeCloseTo(0.5248, 6);
  });

  test("far apart is beyond, close together is within, one seed tells nothing", () => {
    expect(verdictOf([1, 1.1, 0.9], [5, 5.2, 4.9]).kind).toBe("beyond");
    expect(verdictOf([1, 2, 3], [1.5, 2.5, 3.2]).kind).toBe("within");
    expect(verdictOf([1], [9, 9]).kind).toBe("unknown");
  });

  test("a repetition is judged by the scatter of the others", () => {
    expect(repetitionOf(1.6, [0.5, 0.52, 0.54])).toMatchObject({ kind: "beyond", seeds: [3, 1] });
    expect(repetitionOf(0.56, [0.5, 0.52, 0.54]).kind).toBe("within");
    // t = 4 with 2 degrees of freedom: 2 * scipy.stats.t.sf(4, 2)
    expect(repetitionOf(2 + 4 * Math.sqrt(4 / 3), [1, 2, 3]).p).toBeCloseTo(0.057190958417, 9);
    expect(repetitionOf(9, [1]).kind).toBe("unknown");
  });

  test("runs that differ in the seed alone are siblings", () => {
    const settings = { a: { lr: 1, seed: 0 }, b: { lr: 1, seed: 1 }, c: { lr: 2, seed: 0 }, d: {} };
    expect(siblingsOf("a", settings)).toEqual(["a", "b"]);
    expect(siblingsOf("d", settings)).toEqual(["d"]);
  });

  test("what differs comes first", () => {
    const found = differences(["a", "b"], { a: { lr: 1, depth: 2 }, b: { lr: 2, depth: 2 } });
    expect(found.map((one) => [one.name, one.differs])).toEqual([["lr", true], ["depth", false]]);
  });
});
