import { describe, expect, test } from "vitest";
import { compareRepetitions, compareWithOthers, repetitionsOf } from "./seed_noise";

describe("seed noise", () => {
  test("large differences are beyond, small ones within, and one seed is not enough", () => {
    expect(compareRepetitions([1, 1.1, 0.9], [5, 5.2, 4.9]).kind).toBe("beyond");
    expect(compareRepetitions([1, 2, 3], [1.5, 2.5, 3.2]).kind).toBe("within");
    expect(compareRepetitions([1], [9, 9]).kind).toBe("unknown");
  });

  test("a repetition is judged by the spread of the others", () => {
    expect(compareWithOthers(1.6, [0.5, 0.52, 0.54])).toMatchObject({ kind: "beyond", seeds: [3, 1] });
    expect(compareWithOthers(0.56, [0.5, 0.52, 0.54]).kind).toBe("within");
    // t = 4 with 2 degrees of freedom: 2 * scipy.stats.t.sf(4, 2)
    expect(compareWithOthers(2 + 4 * Math.sqrt(4 / 3), [1, 2, 3]).p).toBeCloseTo(0.057190958417, 9);
    expect(compareWithOthers(9, [1]).kind).toBe("unknown");
  });

  test("runs that differ only in their seed are repetitions", () => {
    const settings = { a: { lr: 1, seed: 0 }, b: { lr: 1, seed: 1 }, c: { lr: 2, seed: 0 }, d: {} };
    expect(repetitionsOf("a", settings)).toEqual(["a", "b"]);
    expect(repetitionsOf("d", settings)).toEqual(["d"]);
    const named = {
      a: { lr: 1, run_tag: "a", dir: "x", data_dir: "cats" },
      b: { lr: 1, run_tag: "b", dir: "y", data_dir: "cats" },
      c: { lr: 1, run_tag: "c", dir: "z", data_dir: "dogs" },
    };
    expect(repetitionsOf("a", named)).toEqual(["a", "b"]);
  });
});
