// Parts of a chart that diagnosis has something to say about.

import type { Finding, RunReport, Severity } from "./api";

export interface Stretch {
  run: string;
  slug: string;
  severity: Severity;
  from: number;
  to: number;
  summary: string;
}

/** The findings of reports as stretches of steps, by the tag they concern; what a user expects is left out. */
export function stretchesByTag(reports: Iterable<RunReport>, expected: (run: string) => string[]): Map<string, Stretch[]> {
  const found = new Map<string, Stretch[]>();
  for (const report of reports) {
    const quiet = expected(report.run);
    for (const finding of report.findings) {
      if (quiet.includes(finding.slug) || finding.first_step === null) continue;
      const stretch: Stretch = {
        run: report.run,
        slug: finding.slug,
        severity: finding.severity,
        from: finding.first_step,
        to: finding.last_step ?? report.steps?.[1] ?? finding.first_step,
        summary: finding.summary,
      };
      for (const tag of finding.metric ? [finding.metric] : tagsOf(finding)) {
        const known = found.get(tag);
        if (known) known.push(stretch);
        else found.set(tag, [stretch]);
      }
    }
  }
  return found;
}

/** Stretches joined where they overlap, the graver in place of the others: laid over each other they would be mud. */
export function joined(stretches: Stretch[]): { from: number; to: number; severity: Severity }[] {
  const result: { from: number; to: number; severity: Severity }[] = [];
  const graver: Span[] = [];
  for (const severity of ["critical", "warning", "info"] as const) {
    const own = union(stretches.filter((one) => one.severity === severity).map(({ from, to }): Span => [from, to]));
    for (const span of own) for (const [from, to] of without(span, union(graver))) result.push({ from, to, severity });
    graver.push(...own);
  }
  return result;
}

type Span = [from: number, to: number];

/** Spans that together cover the same, in order and apart from each other. */
function union(spans: Span[]): Span[] {
  const found: Span[] = [];
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = found.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return found;
}

/** What of a span none of some others covers. These are in order and apart from each other. */
function without([from, to]: Span, others: Span[]): Span[] {
  const left: Span[] = [];
  for (const [start, end] of others) {
    if (end < from || start > to) continue;
    if (start > from) left.push([from, start]);
    from = end;
    if (from >= to) return left;
  }
  left.push([from, to]);
  return left;
}

/** The tags whose curves show a finding: its own metric and those of its evidence. */
export function tagsOf(finding: Finding): string[] {
  const tags = [finding.metric, ...finding.evidence.map((one) => one.metric)];
  return [...new Set(tags.filter((tag): tag is string => Boolean(tag)))];
}

const SPELLINGS: Record<string, string> = { lr: "LR", nan: "NaN", oom: "OOM", gpu: "GPU", ema: "EMA", fp16: "FP16", moe: "MoE", kl: "KL", io: "I/O" };

/** A slug as words, for use within a sentence: `loss-nan` is "loss NaN". */
export function wordsOf(slug: string): string {
  return slug.split(/[-_]/).map((word) => SPELLINGS[word] ?? word).join(" ");
}

/** A slug as a title: `loss-spike` is "Loss spike". */
export function titleOf(slug: string): string {
  const words = wordsOf(slug);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
