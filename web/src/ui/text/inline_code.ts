// Sentences that mark code with backticks, as diagnosis writes them.

export interface TextPart {
  text: string;
  code: boolean;
}

/** Splits a sentence into prose and code. An unpaired backtick stays as it is. Percent signs follow their number. */
export function splitInlineCode(sentence: string): TextPart[] {
  const parts = sentence.split("`");
  if (parts.length % 2 === 0) {
    const rest = parts.pop()!;
    parts[parts.length - 1] += `\`${rest}`;
  }
  return parts
    .map((text, index) => {
      const code = index % 2 === 1;
      return { text: code ? text : text.replace(/(\d) %/g, "$1%"), code };
    })
    .filter((part) => part.text !== "");
}
