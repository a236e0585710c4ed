// The order in which trouble is told.

import type { Finding, RunReport, RunSummary, Severity, Status } from "./api";
import { rankOf } from "./runs";
import { naturally } from "./tags";

export interface Patient {
  run: RunSummary;
  report: RunReport | null;
  /** Findings the reader has not called expected, worst first. */
  findings: Finding[];
  expected: Finding[];
  status: Status | null;
}

const LEVEL: Record<Severity, number> = { critical: 3, warning: 2, info: 1 };

/** A run with its report, what is expected put aside; the status is that of what remains. */
export function patientOf(run: RunSummary, report: RunReport | null): Patient {
  if (report === null) return { run, report, findings: [], expected: [], status: run.status };
  const known = new Set(run.marks?.expected ?? []);
  // The report has its own order of importance; it breaks ties between findings of one severity.
  const findings = report.findings.filter((one) => !known.has(one.slug)).sort((a, b) => LEVEL[b.severity] - LEVEL[a.severity]);
  const expected = report.findings.filter((one) => known.has(one.slug));
  const worst = findings[0]?.severity ?? "ok";
  return { run, report, findings, expected, status: worst };
}

/** The worst first; among equals by name. */
export function triage(patients: Patient[]): Patient[] {
  return [...patients].sort(
    (a, b) =>
      rankOf(b.status) - rankOf(a.status) || b.findings.length - a.findings.length || naturally(a.run.name, b.run.name),
  );
}

/** How many runs have each status. */
export function countStatuses(patients: Patient[]): Record<Status | "unknown", number> {
  const counts = { critical: 0, warning: 0, info: 0, ok: 0, unknown: 0 };
  for (const { status } of patients) counts[status ?? "unknown"] += 1;
  return counts;
}

/** The limits that evidence about a metric names, as numbers to draw. */
export function limitsOf(finding: Finding, metric: string): number[] {
  const limits = finding.evidence.filter((one) => one.metric === metric).map((one) => one.limit);
  return [...new Set(limits.filter((limit): limit is number => typeof limit === "number" && Number.isFinite(limit)))];
}
