import { expect, test } from "vitest";
import { matchScore, search } from "./fuzzy_search";

test("a few letters find the entry that starts words with them", () => {
  expect(search("tl", ["val/loss", "train/loss"], (text) => text, 5)[0]).toBe("train/loss");
  expect(matchScore("xyz", "train/loss")).toBeNull();
});
