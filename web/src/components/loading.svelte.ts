// What a card shows: loaded when the card comes near the view, and again when its run has grown.

import { untrack } from "svelte";
import { app } from "../state/app.svelte";
import { near } from "./near";

interface Question<T> {
  run: string;
  /** All that the answer depends on besides the run's points. Where it changes, it is asked again. */
  about: unknown[];
  ask: () => Promise<T>;
}

/** Made while a component is set up. `{@attach loading.seen}` on its element tells when it is near the view. */
export class Loading<T> {
  data = $state.raw<T | null>(null);
  failed = $state<string | null>(null);
  near = $state(false);
  readonly seen = near((now) => (this.near = now));
  #news = $state(0);
  #asked = "";

  constructor(question: () => Question<T>) {
    $effect(() => {
      const { grown } = app.tick;
      if (grown === null || grown.has(question().run)) untrack(() => this.#news++);
    });
    $effect(() => {
      const { run, about, ask } = question();
      const asked = JSON.stringify([this.#news, run, about]);
      // Coming near again is no reason to ask again.
      if (!(this.near || app.exporting) || asked === this.#asked) return;
      this.#asked = asked;
      untrack(ask)
        .then((answer) => {
          if (asked !== this.#asked) return;
          this.data = answer;
          this.failed = null;
        })
        .catch((error: Error) => {
          if (asked !== this.#asked) return;
          this.#asked = "";
          this.failed = error.message;
        });
    });
  }
}
