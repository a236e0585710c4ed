// Slugs of findings and causes as readable text.

const SPELLINGS: Record<string, string> = {
  lr: "LR",
  nan: "NaN",
  oom: "OOM",
  gpu: "GPU",
  ema: "EMA",
  fp16: "FP16",
  moe: "MoE",
  kl: "KL",
  io: "I/O",
};

/** A slug as words within a sentence: `loss-nan` becomes "loss NaN". */
export function slugToWords(slug: string): string {
  return slug
    .split(/[-_]/)
    .map((word) => SPELLINGS[word] ?? word)
    .join(" ");
}

/** A slug as a title: `loss-spike` becomes "Loss spike". */
export function slugToTitle(slug: string): string {
  const words = slugToWords(slug);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
