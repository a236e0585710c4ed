// Drawing in turns: a little in every frame, so that scrolling never waits for charts.

type Task = () => void;

/** Runs tasks in order of their urgency, within a few milliseconds of each frame. A key is queued once. */
export class FrameQueue {
  private tasks = new Map<unknown, { task: Task; urgency: number }>();
  private scheduled = false;

  constructor(
    private budgetMs = 10,
    private nextFrame: (run: () => void) => void = (run) => requestAnimationFrame(run),
    private now: () => number = () => performance.now(),
  ) {}

  add(key: unknown, task: Task, urgency = 0): void {
    this.tasks.set(key, { task, urgency });
    this.schedule();
  }

  remove(key: unknown): void {
    this.tasks.delete(key);
  }

  get length(): number {
    return this.tasks.size;
  }

  private schedule(): void {
    if (this.scheduled || this.tasks.size === 0) return;
    this.scheduled = true;
    this.nextFrame(() => this.run());
  }

  private run(): void {
    this.scheduled = false;
    const end = this.now() + this.budgetMs;
    while (this.tasks.size > 0) {
      let chosen: unknown;
      let best = -Infinity;
      for (const [key, { urgency }] of this.tasks) {
        if (urgency > best) {
          best = urgency;
          chosen = key;
        }
      }
      const { task } = this.tasks.get(chosen)!;
      this.tasks.delete(chosen);
      task();
      if (this.now() >= end) break;
    }
    this.schedule();
  }
}

export const frames = new FrameQueue();
