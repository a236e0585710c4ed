// The one tooltip of the page: what the pointer is over.

import type { Reading } from "../lib/reading";
import type { XKind } from "../lib/api";

export interface Hover {
  x: number;
  clientX: number;
  clientY: number;
  kind: XKind;
  title: string;
  readings: Reading[];
}

class HoverState {
  shown = $state.raw<Hover | null>(null);
  owner: object | null = null;

  show(owner: object, what: Hover): void {
    this.owner = owner;
    this.shown = what;
  }

  clear(): void {
    this.owner = null;
    this.shown = null;
  }
}

export const hover = new HoverState();
