import { describe, expect, test } from "vitest";
import { assignSlots, contrast, oklchToHex, SLOTS, slotColour, withAlpha } from "./colour";

describe("colours of runs", () => {
  test("a run keeps its colour when others come after it", () => {
    const few = assignSlots(["a", "b", "c"]);
    const many = assignSlots(["a", "b", "c", ...Array.from({ length: 200 }, (_, i) => `run${i}`)]);
    for (const name of ["a", "b", "c"]) expect(many.get(name)).toBe(few.get(name));
  });

  test("no two of the first thirty-six share one", () => {
    const slots = assignSlots(Array.from({ length: SLOTS }, (_, i) => `run-${i}`));
    expect(new Set(slots.values()).size).toBe(SLOTS);
  });

  test("every colour can be told from the ground in both themes", () => {
    for (let slot = 0; slot < SLOTS; slot++) {
      expect(contrast(slotColour(slot, "light"), "#ffffff")).toBeGreaterThan(2.9);
      expect(contrast(slotColour(slot, "dark"), "#1a1f24")).toBeGreaterThan(2.9);
    }
  });

  test("known colours come out right", () => {
    expect(oklchToHex(1, 0, 0)).toBe("#ffffff");
    expect(oklchToHex(0, 0, 0)).toBe("#000000");
    expect(contrast("#000000", "#ffffff")).toBeCloseTo(21);
    expect(withAlpha("#102030", 0.5)).toBe("#10203080");
  });
});
