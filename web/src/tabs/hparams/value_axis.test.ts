import { describe, expect, test } from "vitest";
import { isWithinBrushes, makeAxis, varyingNames } from "./value_axis";

describe("axes of parallel coordinates", () => {
  test("values that span decades get a logarithmic axis", () => {
    const axis = makeAxis("lr", [1e-4, 1e-3, 1e-2]);
    expect(axis.kind).toBe("log");
    expect(axis.position(1e-3)).toBeCloseTo(0.5);
    expect(axis.position(null)).toBeNull();
  });

  test("names are spread evenly", () => {
    const axis = makeAxis("optimizer", ["sgd", "adam", "lion", "adam"]);
    expect(axis.kind).toBe("names");
    expect(axis.ticks.map((tick) => tick.label)).toEqual(["adam", "lion", "sgd"]);
    expect(axis.position("lion")).toBe(0.5);
  });

  test("a brush keeps values within it, and NaN is in no brush", () => {
    const axis = makeAxis("loss", [0, 1, 2]);
    expect(isWithinBrushes({ loss: 1 }, [axis], { loss: [0.4, 0.6] })).toBe(true);
    expect(isWithinBrushes({ loss: 2 }, [axis], { loss: [0.4, 0.6] })).toBe(false);
    expect(isWithinBrushes({ loss: NaN }, [axis], { loss: [0, 1] })).toBe(false);
  });

  test("settings that all runs share, or only some have, are not varying", () => {
    expect(varyingNames([{ lr: 1, depth: 2 }, { lr: 2, depth: 2 }, {}], ["lr", "depth"])).toEqual(["lr"]);
  });
});
