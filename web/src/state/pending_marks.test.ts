import { expect, test } from "vitest";
import type { Marks, RunSummary } from "../api/types";
import { PendingMarks } from "./pending_marks";

const response = (marks: Marks | null = null) =>
  [
    { name: "one", marks },
    { name: "two", marks: null },
  ] as RunSummary[];
const markedName = (runs: RunSummary[] | null) => runs?.[0]!.marks?.name ?? null;

test("a response to a request from before a mark does not undo it", () => {
  const pending = new PendingMarks();
  const early = pending.startRequest();
  const marks = { name: "mine" };
  pending.set("one", marks);
  expect(markedName(pending.applyTo(early, response()))).toBe("mine");
});

test("nor does a response to a request made while the mark was being sent", () => {
  const pending = new PendingMarks();
  const marks = { name: "mine" };
  pending.set("one", marks);
  const between = pending.startRequest();
  pending.confirm("one", marks);
  expect(markedName(pending.applyTo(between, response()))).toBe("mine");
});

test("a response to a request made after the mark was stored replaces it", () => {
  const pending = new PendingMarks();
  const marks = { name: "mine" };
  pending.set("one", marks);
  pending.confirm("one", marks);
  expect(markedName(pending.applyTo(pending.startRequest(), response({ name: "someone else's" })))).toBe(
    "someone else's",
  );
  expect(markedName(pending.applyTo(pending.startRequest(), response()))).toBe(null);
});

test("confirming an older mark does not confirm a newer one", () => {
  const pending = new PendingMarks();
  const first = { name: "first" };
  const second = { name: "second" };
  pending.set("one", first);
  pending.set("one", second);
  pending.confirm("one", first);
  expect(markedName(pending.applyTo(pending.startRequest(), response(first)))).toBe("second");
  expect(pending.discard("one", first)).toBe(false);
  expect(pending.discard("one", second)).toBe(true);
});

test("a response that arrives after a newer one is ignored", () => {
  const pending = new PendingMarks();
  const early = pending.startRequest();
  const late = pending.startRequest();
  expect(markedName(pending.applyTo(late, response({ name: "new" })))).toBe("new");
  expect(pending.applyTo(early, response({ name: "old" }))).toBe(null);
});
