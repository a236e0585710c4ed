import { expect, test } from "vitest";
import { FrameQueue } from "./frame_queue";

function queueWithClock() {
  const frames: (() => void)[] = [];
  let now = 0;
  const queue = new FrameQueue(
    10,
    (run) => frames.push(run),
    () => now,
  );
  return { queue, frame: () => frames.shift()?.(), spend: (ms: number) => (now += ms) };
}

test("a frame runs as many tasks as fit its time, urgent ones first", () => {
  const { queue, frame, spend } = queueWithClock();
  const done: string[] = [];
  const task = (name: string) => () => {
    done.push(name);
    spend(8);
  };
  queue.add("a", task("a"));
  queue.add("b", task("b"), 1);
  queue.add("c", task("c"));
  frame();
  expect(done).toEqual(["b", "a"]);
  frame();
  expect(done).toEqual(["b", "a", "c"]);
});

test("a task added twice runs once, and a removed one never", () => {
  const { queue, frame } = queueWithClock();
  let count = 0;
  queue.add("a", () => (count += 1));
  queue.add("a", () => (count += 1));
  queue.add("b", () => (count += 100));
  queue.remove("b");
  frame();
  expect(count).toBe(1);
});
