import { expect, test } from "vitest";
import type { Finding, RunReport } from "../api/types";
import { findingRangesByTag, tagsOfFinding } from "./finding_ranges";

const finding = (slug: string, severity: Finding["severity"], more: Partial<Finding> = {}): Finding => ({
  slug,
  severity,
  metric: "train/loss",
  first_step: 10,
  last_step: 20,
  summary: slug,
  evidence: [{ metric: "train/loss", what: "rose to", value: 9, limit: 3, step: 12, on_curve: true }],
  causes: [],
  checks: [],
  fixes: [],
  ...more,
});
const report = (run: string, findings: Finding[]): RunReport => ({
  run,
  path: "",
  status: findings[0]?.severity ?? "ok",
  steps: [0, 100],
  profile: "general",
  doubtful: [],
  roles: {},
  findings,
  causes: [],
  next_check: null,
  not_checked: [],
  coverage: { ran: 0, of: 0, enable: [] },
  incidents: [],
  facts: {},
  readings: [],
  unread: [],
});

test("a finding has a range on the tag of its metric, and on no other", () => {
  const reports = [report("r", [finding("loss-spike", "critical", { last_step: null })])];
  expect(findingRangesByTag(reports, () => []).get("train/loss")).toMatchObject([
    { from: 10, to: 100, severity: "critical" },
  ]);
  expect([...findingRangesByTag(reports, () => []).keys()]).toEqual(["train/loss"]);
  expect(findingRangesByTag(reports, () => ["loss-spike"]).size).toBe(0);
});

test("the tags of a finding are its metric and those of its evidence", () => {
  const item = { what: "", value: 1, limit: 2, step: null, on_curve: false };
  const evidence = [
    { metric: "a", ...item },
    { metric: "b", ...item },
    { metric: "a", ...item },
  ];
  expect(tagsOfFinding(finding("x", "info", { evidence }))).toEqual(["train/loss", "a", "b"]);
});
