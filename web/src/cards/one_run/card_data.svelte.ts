// The data of a card about one run: loaded when the card comes near the view, and again after the run has grown.

import { untrack } from "svelte";
import { page } from "../../state/page.svelte";
import { updates } from "../../state/refresh.svelte";
import { whenNearView } from "../../ui/near_view";

interface Request<T> {
  run: string;
  /** Everything the response depends on, apart from the run's points. A change causes a new request. */
  dependsOn: unknown[];
  fetch: () => Promise<T>;
}

/** Create it while a component is set up, and put `{@attach data.attach}` on the card's element. */
export class CardData<T> {
  value = $state.raw<T | null>(null);
  failed = $state<string | null>(null);
  /** Whether the card is near the view. */
  near = $state(false);
  readonly attach = whenNearView((near) => (this.near = near));
  /** Grows when the run has new points. */
  #version = $state(0);
  /** The latest request, as text; empty if it failed. */
  #requested = "";

  constructor(request: () => Request<T>) {
    $effect(() => {
      const { grown } = updates.latest;
      if (grown === null || grown.has(request().run)) untrack(() => this.#version++);
    });
    $effect(() => {
      const { run, dependsOn, fetch } = request();
      const key = JSON.stringify([this.#version, run, dependsOn]);
      // A card that comes near the view again has its data already.
      if (!(this.near || page.exporting) || key === this.#requested) return;
      this.#requested = key;
      untrack(fetch)
        .then((value) => {
          if (key !== this.#requested) return;
          this.value = value;
          this.failed = null;
        })
        .catch((error: Error) => {
          if (key !== this.#requested) return;
          this.#requested = "";
          this.failed = error.message;
        });
    });
  }
}
