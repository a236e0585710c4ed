// Marks that the server may not have stored yet. A response to an earlier request does not contain them, and must not
// undo them.

import type { Marks, RunSummary } from "../api/types";

interface Pending {
  marks: Marks;
  /** How many requests had started when the server stored the marks; null while they are being sent. */
  storedAt: number | null;
}

export class PendingMarks {
  private started = 0;
  private newestApplied = 0;
  private pending = new Map<string, Pending>();

  /** Call before requesting the runs. Returns the number to pass to `applyTo` with the response. */
  startRequest(): number {
    return ++this.started;
  }

  /** A user changed the marks of a run. */
  set(run: string, marks: Marks): void {
    this.pending.set(run, { marks, storedAt: null });
  }

  /** The server stored these marks: responses to requests from now on contain them. */
  confirm(run: string, marks: Marks): void {
    const pending = this.pending.get(run);
    if (pending?.marks === marks) pending.storedAt = this.started;
  }

  /** The server did not store these marks. False if the user has changed them again since. */
  discard(run: string, marks: Marks): boolean {
    if (this.pending.get(run)?.marks !== marks) return false;
    return this.pending.delete(run);
  }

  /** The runs of a response with pending marks applied; null if a newer response was applied before. */
  applyTo(request: number, runs: RunSummary[]): RunSummary[] | null {
    if (request < this.newestApplied) return null;
    this.newestApplied = request;
    for (const [run, { storedAt }] of this.pending) {
      if (storedAt !== null && request > storedAt) this.pending.delete(run);
    }
    if (this.pending.size === 0) return runs;
    return runs.map((run) => {
      const pending = this.pending.get(run.name);
      return pending ? { ...run, marks: pending.marks } : run;
    });
  }
}
