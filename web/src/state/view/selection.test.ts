import { expect, test } from "vitest";
import { selectedNames, selectionOf } from "./selection";

const all = ["a", "b", "c"];

test("the shorter form is used", () => {
  expect(selectionOf(new Set(["a", "b"]), all)).toEqual({ except: ["c"] });
  expect(selectionOf(new Set(["a"]), all)).toEqual({ only: ["a"] });
});

test("a new run is selected after 'all except', but not after 'only'", () => {
  expect(selectedNames({ except: ["b"] }, [...all, "new"])).toEqual(new Set(["a", "c", "new"]));
  expect(selectedNames({ only: ["b"] }, [...all, "new"])).toEqual(new Set(["b"]));
});

test("deselecting and selecting again restores the selection", () => {
  const without = selectedNames(selectionOf(new Set(["a", "c"]), all), all);
  expect(selectionOf(new Set([...without, "b"]), all)).toEqual({ except: [] });
});
