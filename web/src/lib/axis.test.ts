import { describe, expect, test } from "vitest";
import { axisOf, passes, varying } from "./axis";

describe("axes of parallel coordinates", () => {
  test("rates over decades get a logarithmic axis", () => {
    const axis = axisOf("lr", [1e-4, 1e-3, 1e-2]);
    expect(axis.kind).toBe("log");
    expect(axis.place(1e-3)).toBeCloseTo(0.5);
    expect(axis.place(null)).toBeNull();
  });

  test("names are spread evenly", () => {
    const axis = axisOf("optimizer", ["sgd", "adam", "lion", "adam"]);
    expect(axis.kind).toBe("names");
    expect(axis.marks.map((mark) => mark.label)).toEqual(["adam", "lion", "sgd"]);
    expect(axis.place("lion")).toBe(0.5);
  });

  test("a brush keeps what lies within; NaN lies in none", () => {
    const axis = axisOf("loss", [0, 1, 2]);
    expect(passes({ loss: 1 }, [axis], { loss: [0.4, 0.6] })).toBe(true);
    expect(passes({ loss: 2 }, [axis], { loss: [0.4, 0.6] })).toBe(false);
    expect(passes({ loss: NaN }, [axis], { loss: [0, 1] })).toBe(false);
  });

  test("what all runs share is not varying, nor what only some have", () => {
    expect(varying([{ lr: 1, depth: 2 }, { lr: 2, depth: 2 }, {}], ["lr", "depth"])).toEqual(["lr"]);
  });
});
