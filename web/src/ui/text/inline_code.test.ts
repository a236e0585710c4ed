import { expect, test } from "vitest";
import { splitInlineCode } from "./inline_code";

test("text between backticks is code", () => {
  expect(splitInlineCode("Run `pulseboard show` first.")).toEqual([
    { text: "Run ", code: false },
    { text: "pulseboard show", code: true },
    { text: " first.", code: false },
  ]);
});

test("shares are written as everywhere on the page", () => {
  expect(splitInlineCode("It lost 26 % of `a 5 %`.")).toEqual([
    { text: "It lost 26% of ", code: false },
    { text: "a 5 %", code: true },
    { text: ".", code: false },
  ]);
});

test("an unpaired backtick stays as it is", () => {
  expect(splitInlineCode("a ` b")).toEqual([{ text: "a ` b", code: false }]);
  expect(splitInlineCode("`x` and ` y")).toEqual([
    { text: "x", code: true },
    { text: " and ` y", code: false },
  ]);
});
