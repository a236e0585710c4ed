import { describe, expect, test } from "vitest";
import type { Finding, RunReport, RunSummary } from "./api";
import { countStatuses, limitsOf, patientOf, triage } from "./health";
import { stretchesByTag, tagsOf, titleOf, wordsOf } from "./stretch";

const finding = (slug: string, severity: Finding["severity"], more: Partial<Finding> = {}): Finding => ({
  slug,
  severity,
  metric: "train/loss",
  first_step: 10,
  last_step: 20,
  summary: slug,
  evidence: [{ metric: "train/loss", what: "rose to", value: 9, limit: 3, step: 12 }],
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
});
const run = (name: string, expected: string[] = []): RunSummary => ({
  name, aliases: [], directory: "", started: 0, ended: 0, last_step: 100, points: 1, tags: 1, kinds: [], ranks: [0], restarts: 0, live: false, has_modules: false, status: null, marks: { expected },
});

describe("telling trouble", () => {
  test("the worst run comes first, what is not read yet last", () => {
    const patients = triage([
      patientOf(run("fine"), report("fine", [])),
      patientOf(run("unread"), null),
      patientOf(run("bad"), report("bad", [finding("loss-spike", "critical")])),
    ]);
    expect(patients.map((patient) => patient.run.name)).toEqual(["bad", "fine", "unread"]);
    expect(countStatuses(patients)).toEqual({ critical: 1, warning: 0, info: 0, ok: 1, unknown: 1 });
  });

  test("what is expected is put aside and no longer counts", () => {
    const patient = patientOf(run("r", ["loss-spike"]), report("r", [finding("loss-spike", "critical"), finding("slow", "info")]));
    expect(patient.status).toBe("info");
    expect(patient.expected.map((one) => one.slug)).toEqual(["loss-spike"]);
  });

  test("severe findings come before mild ones, else the report's order stays", () => {
    const patient = patientOf(run("r"), report("r", [finding("b", "info"), finding("c", "warning"), finding("a", "warning")]));
    expect(patient.findings.map((one) => one.slug)).toEqual(["c", "a", "b"]);
  });

  test("a finding shades its stretch on its own metric and on no other", () => {
    const reports = [report("r", [finding("loss-spike", "critical", { last_step: null })])];
    expect(stretchesByTag(reports, () => []).get("train/loss")).toMatchObject([{ from: 10, to: 100, severity: "critical" }]);
    expect([...stretchesByTag(reports, () => []).keys()]).toEqual(["train/loss"]);
    expect(stretchesByTag(reports, () => ["loss-spike"]).size).toBe(0);
  });

  test("limits are numbers of that metric", () => {
    const one = finding("x", "info", { evidence: [{ metric: "a", what: "", value: 1, limit: 2, step: null }, { metric: "b", what: "", value: 1, limit: 3, step: null }, { metric: "a", what: "", value: 1, limit: "nan", step: null }] });
    expect(limitsOf(one, "a")).toEqual([2]);
    expect(tagsOf(one)).toEqual(["train/loss", "a", "b"]);
    expect(titleOf("loss-spike")).toBe("Loss spike");
    expect([titleOf("lr-too-high"), wordsOf("gradient-nan")]).toEqual(["LR too high", "gradient NaN"]);
  });
});
