import { expect, test } from "vitest";
import { parseJsonNumber } from "./json_numbers";

test("numbers that JSON cannot hold are read from strings", () => {
  expect(parseJsonNumber(1)).toBe(1);
  expect(parseJsonNumber("nan")).toBeNaN();
  expect(parseJsonNumber("-inf")).toBe(-Infinity);
  expect(parseJsonNumber("x")).toBeNull();
});
