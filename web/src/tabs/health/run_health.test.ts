import { describe, expect, test } from "vitest";
import type { Finding, Incident, RunReport, RunSummary } from "../../api/types";
import { limitsOnChart } from "./limits";
import { countStatuses, healthOf, sortByHealth } from "./run_health";
import { actionOf, verdictOf } from "./verdict";

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
const incident = (findings: number[], more: Partial<Incident> = {}): Incident => ({
  id: "loss-spike@10",
  headline: "The loss jumped",
  severity: "critical",
  first_step: 10,
  last_step: 100,
  open: true,
  cost: { what: "share of the run", value: 0.45 },
  findings,
  causes: [{ slug: "lr-too-high", probability: 0.86, because: [], against: [], fixes: [], signs: [], alike: [] }],
  next_check: { do: "Draw `lr`.", why: "it tells whether lr-too-high is the cause" },
  fixes: [],
  ...more,
});
const report = (run: string, findings: Finding[], more: Partial<RunReport> = {}): RunReport => ({
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
  coverage: { ran: 31, of: 87, enable: [{ log: "pb.watch(model, optimizer)", checks: 18 }] },
  incidents: [],
  facts: {},
  readings: [],
  unread: [],
  ...more,
});
const run = (name: string, expected: string[] = []): RunSummary => ({
  name,
  aliases: [],
  directory: "",
  started: 0,
  ended: 0,
  last_step: 100,
  points: 1,
  tags: 1,
  kinds: [],
  ranks: [0],
  restarts: 0,
  live: false,
  state: null,
  has_modules: false,
  axis: { kind: "step", columns: [], steps_per_epoch: null, note: "" },
  fork: null,
  status: null,
  marks: { expected },
});

describe("the health of runs", () => {
  test("the worst run comes first, undiagnosed runs last", () => {
    const runs = sortByHealth([
      healthOf(run("fine"), report("fine", [])),
      healthOf(run("unread"), null),
      healthOf(run("bad"), report("bad", [finding("loss-spike", "critical")])),
    ]);
    expect(runs.map((one) => one.run.name)).toEqual(["bad", "fine", "unread"]);
    expect(countStatuses(runs)).toEqual({ critical: 1, warning: 0, info: 0, ok: 1, unknown: 0, pending: 1 });
  });

  test("expected findings do not count", () => {
    const health = healthOf(
      run("r", ["loss-spike"]),
      report("r", [finding("loss-spike", "critical"), finding("slow", "info")]),
    );
    expect(health.status).toBe("info");
    expect(health.expected.map((one) => one.slug)).toEqual(["loss-spike"]);
  });

  test("severe findings come first; otherwise the report's order is kept", () => {
    const health = healthOf(
      run("r"),
      report("r", [finding("b", "info"), finding("c", "warning"), finding("a", "warning")]),
    );
    expect(health.findings.map((one) => one.slug)).toEqual(["c", "a", "b"]);
  });

  test("among equally bad runs the costliest problem comes first, and a run that cannot be judged before healthy ones", () => {
    const bad = (name: string, value: number) =>
      healthOf(
        run(name),
        report(name, [finding("loss-spike", "critical")], {
          incidents: [incident([0], { cost: { what: "share of the run", value } })],
        }),
      );
    const runs = sortByHealth([
      healthOf(run("fine"), report("fine", [])),
      healthOf(run("short"), report("short", [], { status: "unknown" })),
      bad("cheap", 0.1),
      bad("dear", 0.9),
    ]);
    expect(runs.map((one) => one.run.name)).toEqual(["dear", "cheap", "short", "fine"]);
  });

  test("a run with too little to judge is not healthy, and a warning in it still counts", () => {
    expect(healthOf(run("r"), report("r", [finding("a", "info")], { status: "unknown" })).status).toBe("unknown");
    expect(healthOf(run("r"), report("r", [finding("a", "warning")])).status).toBe("warning");
  });

  test("an incident loses its expected findings, and goes with the last of them", () => {
    const findings = [finding("loss-spike", "critical"), finding("lr-jump", "warning")];
    const both = report("r", findings, { incidents: [incident([0, 1])] });
    const [left] = healthOf(run("r", ["loss-spike"]), both).incidents;
    expect([left?.headline, left?.severity, left?.findings]).toEqual(["LR jump", "warning", [1]]);
    expect(healthOf(run("r", ["loss-spike", "lr-jump"]), both).incidents).toEqual([]);
  });
});

describe("the verdict", () => {
  const of = (more: Partial<Incident>) =>
    verdictOf(
      healthOf(run("r"), report("r", [finding("loss-spike", "critical")], { incidents: [incident([0], more)] })),
    );

  test("says what, since when, what it cost, the likely cause and the next check", () => {
    expect(of({})).toEqual({
      headline: "The loss jumped",
      facts: ["since step 10", "45% of the run", "likely cause: LR too high (86%)"],
      next: "Draw `lr`.",
      why: "It tells whether LR too high is the cause",
    });
  });

  test("does not repeat the step of the headline, and a weak cause is a guess", () => {
    const causes = [{ slug: "bad-batch", probability: 0.3, because: [], against: [], fixes: [], signs: [], alike: [] }];
    expect(of({ headline: "The loss jumped, from step 10", causes })?.facts).toEqual([
      "45% of the run",
      "perhaps bad batch (30%)",
    ]);
    expect(of({ open: false, last_step: 40 })?.facts[0]).toBe("steps 10 to 40");
  });

  test("says where the first sign was if the main finding of the headline began later", () => {
    const headline = "The loss jumped, from step 10";
    expect(of({ headline, first_step: 4 })?.facts.slice(0, 2)).toEqual(["first sign at step 4", "45% of the run"]);
    expect(of({ headline, first_step: 4, open: false, last_step: 40 })?.facts[1]).toBe("until step 40");
  });

  test("of a run with too little data names what to log", () => {
    const verdict = verdictOf(healthOf(run("r"), report("r", [], { status: "unknown" })));
    expect(verdict?.headline).toBe("Too little was logged to judge this run");
    expect(verdict?.next).toBe("Log `pb.watch(model, optimizer)`");
  });

  test("a check draws the tags it names, opens the guide it names, or is copied", () => {
    const action = (check: string) =>
      actionOf(
        check,
        (name) => name === "lr",
        (slug) => slug === "lr-jump",
      );
    expect(action("Draw `lr`.")).toEqual({ kind: "draw", tags: ["lr"] });
    expect(action("See `lr-jump`.")).toEqual({ kind: "guide", slug: "lr-jump", title: "LR jump" });
    expect(action("Run `pulseboard ls`.")).toEqual({ kind: "copy", text: "pulseboard ls" });
    expect(action("Train on one batch.")).toEqual({ kind: "copy", text: "Train on one batch." });
  });
});

describe("limits on a chart", () => {
  const evidence = (limit: number | string, on_curve: boolean, metric = "a") =>
    finding("x", "info", { evidence: [{ metric, what: "", value: 8, limit, step: 10, on_curve }] });

  test("a limit is drawn if it is a value of the metric", () => {
    expect(limitsOnChart(evidence(3, true), "a")).toEqual([3]);
  });

  test("a limit on a share, a count or another metric is not", () => {
    expect(limitsOnChart(evidence(3, false), "a")).toEqual([]);
    expect(limitsOnChart(evidence(3, true, "b"), "a")).toEqual([]);
    expect(limitsOnChart(evidence("nan", true), "a")).toEqual([]);
  });
});
