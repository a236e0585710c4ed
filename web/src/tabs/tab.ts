// What a tab declares about itself, in the index.ts of its folder.

import type { Component } from "svelte";
import type { Severity } from "../api/types";

export interface TabBadge {
  text: string;
  title: string;
  severity: Severity;
}

export interface Tab {
  /** The name in URLs. */
  id: string;
  /** Other names in URLs: those that TensorBoard or older versions use. */
  aliases?: string[];
  label: string;
  /** The position in the top bar; smaller is further left. */
  order: number;
  load: () => Promise<{ default: Component }>;
  /** Whether the logs contain anything that the tab shows; by default always. */
  hasData?: () => boolean;
  /** Whether the tab shows tags with values of these kinds, so that the command palette can open them there. */
  showsTags?: (kinds: string[]) => boolean;
  /** Whether the page may open on this tab. The leftmost one that agrees is opened. */
  mayOpenFirst?: () => boolean;
  /** Whether the tab draws scalars at first. Other requests then wait for the first chart. */
  drawsScalars?: boolean;
  /** A badge next to the label. */
  badge?: () => TabBadge | null;
}
