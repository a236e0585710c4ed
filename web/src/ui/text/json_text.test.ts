import { expect, test } from "vitest";
import { isJson } from "./json_text";

test("objects and arrays are JSON, and Markdown is not", () => {
  expect(['{"lr": 0.1}', " [1, 2]"].map(isJson)).toEqual([true, true]);
  expect(["[a link](https://example.org)", "{not json}", "3", "**bold**", ""].map(isJson)).not.toContain(true);
});
