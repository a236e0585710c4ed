// Footnotes of a scorecard: each text once, numbered in the order of the page.

import type { Scorecard } from "../../api/types";

/** The numbers of the footnotes, by text. */
export function numberFootnotes(card: Scorecard): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const row of [...card.metrics, ...card.stages, ...card.checks]) {
    for (const note of row.notes) {
      if (!numbers.has(note)) numbers.set(note, numbers.size + 1);
    }
  }
  return numbers;
}

/** The marks of a row, such as `[1][3]`. */
export function footnoteMarks(notes: string[], numbers: Map<string, number>): string {
  return notes.map((note) => `[${numbers.get(note)}]`).join("");
}

/** A text that starts with a capital letter. */
export function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
