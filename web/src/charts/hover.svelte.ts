// What the pointer is over. The page has one tooltip, which all charts share.

import type { XAxis } from "../api/types";
import type { Reading } from "./readings";

export interface HoverContent {
  clientX: number;
  clientY: number;
  /** The edges of a chart that the tooltip must not cover, if the pointer is a finger. */
  avoid: { top: number; bottom: number } | null;
  x: number;
  xAxis: XAxis;
  readings: Reading[];
  /** The key of the curve under the pointer. */
  pointed: string | null;
}

class Hover {
  content = $state.raw<HoverContent | null>(null);
  private owner: object | null = null;

  show(owner: object, content: HoverContent): void {
    this.owner = owner;
    this.content = content;
  }

  /** The x that other charts with the same axis mark while the pointer is on one of them; null if it is on none. */
  crosshairFor(owner: object, xAxis: XAxis): number | null {
    const { content } = this;
    return content && content.xAxis === xAxis && this.owner !== owner ? content.x : null;
  }

  /** Hides the tooltip of a finger, which stays after the finger has gone. */
  clearTouched(): void {
    if (this.content?.avoid) this.clear(this.owner!);
  }

  /** Hides the tooltip if it belongs to this owner. */
  clear(owner: object): void {
    if (this.owner !== owner) return;
    this.owner = null;
    this.content = null;
  }
}

export const hover = new Hover();
