// The health of runs, and in which order to show it.

import type { Finding, Incident, RunReport, RunSummary, Severity, Status } from "../../api/types";
import { statusRank } from "../../runs/run_order";
import { compareNames } from "../../ui/text/natural_order";
import { slugToTitle } from "../../ui/text/slug";

export interface RunHealth {
  run: RunSummary;
  report: RunReport | null;
  /** Problems, most severe first. */
  incidents: Incident[];
  /** The finding that leads the first problem; without a problem, the first note. */
  lead: Finding | null;
  /** Findings that are not marked as expected, most severe first. */
  findings: Finding[];
  /** Findings that are marked as expected. */
  expected: Finding[];
  status: Status | null;
}

const SEVERITY_RANK: Record<Severity, number> = { critical: 3, warning: 2, info: 1 };
const bySeverity = (a: { severity: Severity }, b: { severity: Severity }) =>
  SEVERITY_RANK[b.severity] - SEVERITY_RANK[a.severity];

/** The health of a run. Expected findings do not count. */
export function healthOf(run: RunSummary, report: RunReport | null): RunHealth {
  if (report === null) {
    return { run, report, incidents: [], lead: null, findings: [], expected: [], status: run.status };
  }
  const expectedSlugs = new Set(run.marks?.expected ?? []);
  const isExpected = (finding: Finding) => expectedSlugs.has(finding.slug);
  // Sorting is stable, so findings of equal severity keep the order of the report.
  const findings = report.findings.filter((finding) => !isExpected(finding)).sort(bySeverity);
  const incidents = report.incidents
    .map((incident) => withoutExpected(incident, report, isExpected))
    .filter((incident) => incident !== null)
    .sort(bySeverity);
  const worst = findings[0]?.severity ?? "ok";
  return {
    run,
    report,
    incidents,
    lead: (incidents[0] ? report.findings[incidents[0].findings[0]!] : findings[0]) ?? null,
    findings,
    expected: report.findings.filter(isExpected),
    // A run with too little to judge is not healthy, whatever was noted about it.
    status: report.status === "unknown" && statusRank(worst) <= statusRank("info") ? "unknown" : worst,
  };
}

/** The incident without its expected findings; null if nothing is left. */
function withoutExpected(
  incident: Incident,
  report: RunReport,
  isExpected: (finding: Finding) => boolean,
): Incident | null {
  const left = incident.findings.filter((index) => report.findings[index] && !isExpected(report.findings[index]));
  if (left.length === incident.findings.length) return incident;
  const findings = left.map((index) => report.findings[index]!);
  const lead = findings[0];
  if (!lead) return null;
  const headline = left[0] === incident.findings[0] ? incident.headline : slugToTitle(lead.slug);
  return { ...incident, findings: left, headline, severity: [...findings].sort(bySeverity)[0]!.severity };
}

/** What the worst problem of a run has cost. */
export function costOf({ incidents }: RunHealth): number {
  return incidents[0]?.cost.value ?? 0;
}

/** The worst runs first; among equally bad ones those whose problem cost most, then by name. */
export function sortByHealth(runs: RunHealth[]): RunHealth[] {
  return [...runs].sort(
    (a, b) =>
      statusRank(b.status) - statusRank(a.status) || costOf(b) - costOf(a) || compareNames(a.run.name, b.run.name),
  );
}

/** How many runs have each status. */
export function countStatuses(runs: RunHealth[]): Record<Status | "pending", number> {
  const counts = { critical: 0, warning: 0, info: 0, ok: 0, unknown: 0, pending: 0 };
  for (const { status } of runs) counts[status ?? "pending"] += 1;
  return counts;
}
