// Tags that log the same metric for training and validation.

const VALIDATION_WORDS = ["val", "valid", "validation", "eval", "test"];
const TRAIN_WORD = /(^|[/_.-])train([/_.-]|$)/i;

/** Pairs of a training tag and its validation tag, such as train/loss and val/loss. */
export function trainValidationPairs(tags: string[]): [train: string, validation: string][] {
  const known = new Set(tags);
  const pairs: [string, string][] = [];
  for (const tag of tags) {
    if (!TRAIN_WORD.test(tag)) continue;
    for (const word of VALIDATION_WORDS) {
      const capitalized = word[0]!.toUpperCase() + word.slice(1);
      const partner = tag.replace(/train/i, (match) => (match[0] === "T" ? capitalized : word));
      if (partner !== tag && known.has(partner)) pairs.push([tag, partner]);
    }
  }
  return pairs;
}
