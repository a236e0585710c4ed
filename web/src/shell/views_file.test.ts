import { expect, test } from "vitest";
import { viewsInFile } from "./views_file";

test("the views of a file are read, and what is not a view is not", () => {
  const file = JSON.stringify({ views: [{ name: "a", hash: "scalars", saved: 1 }, { name: "b" }] });
  expect(viewsInFile(file)).toEqual({ a: "scalars" });
});

test("another file is refused with advice", () => {
  for (const text of ["", "{}", "[1]", '{"marks": {}}']) expect(() => viewsInFile(text)).toThrow("has no views");
});
