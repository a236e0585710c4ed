import { expect, test } from "vitest";
import { differenceTag } from "./difference";

test("a tag becomes its difference from the baseline, in quotes that it does not contain", () => {
  expect(differenceTag("train/loss", "base line")).toBe('="train/loss" - run("base line", "train/loss")');
  expect(differenceTag('a "b"', "c")).toBe(`='a "b"' - run("c", 'a "b"')`);
});

test("what no expression can contain is drawn as it is", () => {
  expect(differenceTag("=exp(a)", "c")).toBe("=exp(a)");
  expect(differenceTag(`both " and '`, "c")).toBe(`both " and '`);
});
