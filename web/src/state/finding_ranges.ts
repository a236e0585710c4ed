// Where findings are on the curves of their tags.

import type { Finding, RunReport, Severity } from "../api/types";

export interface FindingRange {
  run: string;
  slug: string;
  severity: Severity;
  /** The first and last step of the finding. */
  from: number;
  to: number;
  summary: string;
}

/** The ranges of findings by tag. Findings that a user marked as expected are left out. */
export function findingRangesByTag(
  reports: Iterable<RunReport>,
  expectedSlugs: (run: string) => string[],
): Map<string, FindingRange[]> {
  const byTag = new Map<string, FindingRange[]>();
  for (const report of reports) {
    const expected = expectedSlugs(report.run);
    for (const finding of report.findings) {
      if (expected.includes(finding.slug) || finding.first_step === null) continue;
      const range: FindingRange = {
        run: report.run,
        slug: finding.slug,
        severity: finding.severity,
        from: finding.first_step,
        to: finding.last_step ?? report.steps?.[1] ?? finding.first_step,
        summary: finding.summary,
      };
      for (const tag of finding.metric ? [finding.metric] : tagsOfFinding(finding)) {
        const ranges = byTag.get(tag);
        if (ranges) ranges.push(range);
        else byTag.set(tag, [range]);
      }
    }
  }
  return byTag;
}

/** The tags whose curves show a finding: its own metric and those of its evidence. */
export function tagsOfFinding(finding: Finding): string[] {
  const tags = [finding.metric, ...finding.evidence.map((item) => item.metric)];
  return [...new Set(tags.filter((tag): tag is string => Boolean(tag)))];
}
