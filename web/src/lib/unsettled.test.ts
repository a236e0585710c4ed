import { expect, test } from "vitest";
import type { Marks, RunSummary } from "./api";
import { Unsettled } from "./unsettled";

const answer = (marks: Marks | null = null) => [{ name: "one", marks }, { name: "two", marks: null }] as RunSummary[];
const named = (runs: RunSummary[] | null) => runs?.[0]!.marks?.name ?? null;

test("an answer that was asked for before a mark does not take it back", () => {
  const unsettled = new Unsettled();
  const early = unsettled.ask();
  const marks = { name: "mine" };
  unsettled.say("one", marks);
  expect(named(unsettled.take(early, answer()))).toBe("mine");
});

test("nor does one that was asked for while the mark was on its way", () => {
  const unsettled = new Unsettled();
  const marks = { name: "mine" };
  unsettled.say("one", marks);
  const between = unsettled.ask();
  unsettled.settle("one", marks);
  expect(named(unsettled.take(between, answer()))).toBe("mine");
});

test("an answer that was asked for after the mark was taken is the truth", () => {
  const unsettled = new Unsettled();
  const marks = { name: "mine" };
  unsettled.say("one", marks);
  unsettled.settle("one", marks);
  expect(named(unsettled.take(unsettled.ask(), answer({ name: "somebody else's" })))).toBe("somebody else's");
  expect(named(unsettled.take(unsettled.ask(), answer()))).toBe(null);
});

test("a mark that was said since is not settled by the one before it", () => {
  const unsettled = new Unsettled();
  const first = { name: "first" };
  const second = { name: "second" };
  unsettled.say("one", first);
  unsettled.say("one", second);
  unsettled.settle("one", first);
  expect(named(unsettled.take(unsettled.ask(), answer(first)))).toBe("second");
  expect(unsettled.drop("one", first)).toBe(false);
  expect(unsettled.drop("one", second)).toBe(true);
});

test("answers that overtake each other are shown in the order they were asked for", () => {
  const unsettled = new Unsettled();
  const early = unsettled.ask();
  const late = unsettled.ask();
  expect(named(unsettled.take(late, answer({ name: "new" })))).toBe("new");
  expect(unsettled.take(early, answer({ name: "old" }))).toBe(null);
});
