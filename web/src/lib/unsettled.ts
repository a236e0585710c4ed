// What a user said about runs and the server may not have taken yet. Answers about runs that were asked for earlier know
// nothing of it, and must not take it back.

import type { Marks, RunSummary } from "./api";

interface Said {
  marks: Marks;
  /** How many questions had been asked when the server took it; null while it is on its way. */
  takenAt: number | null;
}

export class Unsettled {
  private asked = 0;
  private shown = 0;
  private said = new Map<string, Said>();

  /** A question about the runs goes out: the number to bring back with its answer. */
  ask(): number {
    return ++this.asked;
  }

  /** Somebody says something: marks as the page shows them from now on. */
  say(run: string, marks: Marks): void {
    this.said.set(run, { marks, takenAt: null });
  }

  /** The server has taken these marks: questions asked from now on are answered with them. */
  settle(run: string, marks: Marks): void {
    const said = this.said.get(run);
    if (said?.marks === marks) said.takenAt = this.asked;
  }

  /** The server did not take these marks. False where others were said since. */
  drop(run: string, marks: Marks): boolean {
    if (this.said.get(run)?.marks !== marks) return false;
    return this.said.delete(run);
  }

  /** The runs to show after an answer; null where a newer answer is shown already. */
  take(question: number, runs: RunSummary[]): RunSummary[] | null {
    if (question < this.shown) return null;
    this.shown = question;
    for (const [run, said] of this.said) if (said.takenAt !== null && question > said.takenAt) this.said.delete(run);
    if (this.said.size === 0) return runs;
    return runs.map((run) => {
      const said = this.said.get(run.name);
      return said ? { ...run, marks: said.marks } : run;
    });
  }
}
