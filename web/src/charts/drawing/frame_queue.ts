// Spreads drawing over frames, so that scrolling never waits for charts.

type Task = () => void;

/** Runs the most urgent tasks first, for a few milliseconds in each frame. A key is in the queue at most once. */
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

  /** Resolves when nothing is left to draw. */
  async idle(): Promise<void> {
    while (this.tasks.size > 0) await new Promise<void>((resolve) => this.nextFrame(resolve));
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
      let next: unknown;
      let highest = -Infinity;
      for (const [key, { urgency }] of this.tasks) {
        if (urgency > highest) {
          highest = urgency;
          next = key;
        }
      }
      const { task } = this.tasks.get(next)!;
      this.tasks.delete(next);
      task();
      if (this.now() >= end) break;
    }
    this.schedule();
  }
}

export const frameQueue = new FrameQueue();
