import { expect, test } from "vitest";
import { slugToTitle, slugToWords } from "./slug";

test("slugs become words with the usual spelling of abbreviations", () => {
  expect(slugToTitle("loss-spike")).toBe("Loss spike");
  expect(slugToTitle("lr-too-high")).toBe("LR too high");
  expect(slugToWords("gradient-nan")).toBe("gradient NaN");
});
