import { expect, test } from "vitest";
import { parsePattern } from "./pattern";

test("an invalid expression is reported and filters nothing", () => {
  const pattern = parsePattern("(unclosed");
  expect(pattern.error).toMatch(/Invalid regular expression/);
  expect(pattern.matches("anything")).toBe(true);
});

test("escapes that strict mode rejects are accepted", () => {
  expect(parsePattern("loss\\-a").matches("loss-a")).toBe(true);
});
