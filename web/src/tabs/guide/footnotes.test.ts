import { expect, test } from "vitest";
import type { Scorecard } from "../../api/types";
import { capitalized, footnoteMarks, numberFootnotes } from "./footnotes";

const card = {
  metrics: [{ notes: ["a"] }, { notes: [] }],
  stages: [{ notes: ["b", "a"] }],
  checks: [{ notes: ["c"] }],
} as unknown as Scorecard;

test("a footnote that several rows share has one number", () => {
  const numbers = numberFootnotes(card);
  expect([...numbers]).toEqual([
    ["a", 1],
    ["b", 2],
    ["c", 3],
  ]);
  expect(footnoteMarks(["c", "a"], numbers)).toBe("[3][1]");
  expect(footnoteMarks([], numbers)).toBe("");
});

test("footnotes start with a capital letter", () => {
  expect(capitalized("written for 768 dimensions")).toBe("Written for 768 dimensions");
  expect(capitalized("")).toBe("");
});
