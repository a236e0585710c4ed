// Sentences with code between backticks, as diagnosis writes them.

export interface Piece {
  text: string;
  code: boolean;
}

/** A sentence in pieces of prose and code. A backtick without a partner stays what it is. */
export function piecesOf(sentence: string): Piece[] {
  const parts = sentence.split("`");
  if (parts.length % 2 === 0) {
    const rest = parts.pop()!;
    parts[parts.length - 1] += `\`${rest}`;
  }
  return parts.map((text, index) => ({ text, code: index % 2 === 1 })).filter((piece) => piece.text !== "");
}
