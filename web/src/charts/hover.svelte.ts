// What the pointer is over. The page has one tooltip, which all charts share.

import type { XAxis } from "../api/types";
import type { Reading } from "./readings";

export interface HoverContent {
  clientX: number;
  clientY: number;
  xAxis: XAxis;
  readings: Reading[];
}

class Hover {
  content = $state.raw<HoverContent | null>(null);
  private owner: object | null = null;

  show(owner: object, content: HoverContent): void {
    this.owner = owner;
    this.content = content;
  }

  /** Hides the tooltip if it belongs to this owner. */
  clear(owner: object): void {
    if (this.owner !== owner) return;
    this.owner = null;
    this.content = null;
  }
}

export const hover = new Hover();
