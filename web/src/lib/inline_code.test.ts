import { expect, test } from "vitest";
import { piecesOf } from "./inline_code";

test("what stands between backticks is code", () => {
  expect(piecesOf("Run `pulseboard show` first.")).toEqual([
    { text: "Run ", code: false },
    { text: "pulseboard show", code: true },
    { text: " first.", code: false },
  ]);
});

test("a lone backtick is a backtick", () => {
  expect(piecesOf("a ` b")).toEqual([{ text: "a ` b", code: false }]);
  expect(piecesOf("`x` and ` y")).toEqual([
    { text: "x", code: true },
    { text: " and ` y", code: false },
  ]);
});
