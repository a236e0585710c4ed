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

test("the queue is idle once its last task has run", async () => {
  const { queue, frame, spend } = queueWithClock();
  let idle = false;
  queue.add("a", () => spend(20));
  queue.add("b", () => spend(20));
  const waited = queue.idle().then(() => (idle = true));
  for (const left of [true, false]) {
    frame(); // one task
    frame(); // the frame of `idle`
    await Promise.resolve();
    await Promise.resolve();
    expect(idle).toBe(!left);
  }
  await waited;
});
