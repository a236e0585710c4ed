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

/** Stretches joined where they overlap, by severity: laid over each other they would hide the curves. */
export function joined(stretches: Stretch[]): { from: number; to: number; severity: Severity }[] {
  const result: { from: number; to: number; severity: Severity }[] = [];
  for (const severity of ["info", "warning", "critical"] as const) {
    const own = stretches.filter((one) => one.severity === severity).sort((a, b) => a.from - b.from);
    let open: { from: number; to: number; severity: Severity } | null = null;
    for (const { from, to } of own) {
      if (open && from <= open.to) open.to = Math.max(open.to, to);
      else result.push((open = { from, to, severity }));
    }
  }
  return result;
}

/** The tags whose curves show a finding: its own metric and those of its evidence. */
export function tagsOf(finding: Finding): string[] {
  const tags = [finding.metric, ...finding.evidence.map((one) => one.metric)];
  return [...new Set(tags.filter((tag): tag is string => Boolean(tag)))];
}

/** A slug as words: `loss-spike` is "Loss spike". */
export function titleOf(slug: string): string {
  const words = slug.replaceAll("-", " ").replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
