"""Incidents, coverage and status: what a person reads first."""

import numpy as np

from pulseboard.core.finding import Finding, RankedCause, RunReport
from pulseboard.diagnose.diagnosis import report_on
from pulseboard.diagnose.judge.incidents import incidents_of
from pulseboard.diagnose.report.sentences import cause_sentence
from pulseboard.diagnose.report.text import summary_rows


def diverging(n=300):
    rng = np.random.default_rng(0)
    down = np.linspace(4, 2, n // 2)
    return np.concatenate([down, np.linspace(2, 9, n - n // 2)]) + 0.03 * rng.normal(size=n)


def test_several_findings_of_one_fault_are_one_incident(case):
    loss = diverging()
    norm = np.concatenate([np.full(150, 1.0), np.geomspace(1, 1e4, 150)]) * (
        1 + 0.05 * np.random.default_rng(1).normal(size=300)
    )
    report = report_on(case({"train/loss": loss, "train/grad_norm": norm}))
    alarms = [finding.slug for finding in report.findings if finding.severity != "info"]
    assert {"loss-diverged", "gradient-exploding"} <= set(alarms)
    (incident,) = report.incidents
    assert len(incident.findings) == len(alarms)
    assert report.findings[incident.findings[0]].slug == "loss-diverged"
    assert incident.severity == "critical"
    assert incident.open
    assert incident.first_step > 100
    assert 0 < incident.cost.value < 1
    assert incident.causes[0].slug in ("lr-too-high", "no-warmup", "data-shift", "no-clipping")


def test_a_slow_machine_is_an_incident_of_its_own_and_no_model_cause_explains_it(case):
    times = np.concatenate([np.full(150, 10.0), np.full(150, 80.0)]) * (
        1 + 0.02 * np.random.default_rng(2).normal(size=300)
    )
    report = report_on(case({"train/loss": diverging(), "train/performance/step_time_ms": times}))
    assert len(report.incidents) == 2
    machine = next(one for one in report.incidents if report.findings[one.findings[0]].slug == "throughput-drop")
    assert not {cause.slug for cause in machine.causes} & {"lr-too-high", "bad-init", "too-little-data"}


def test_a_healthy_run_has_no_incident_and_says_how_much_was_checked(case, falling):
    report = report_on(case({"train/loss": falling()}))
    assert (report.status, report.incidents) in [("ok", ()), ("info", ())]
    assert 5 < report.coverage.ran < report.coverage.of
    assert report.coverage.enable[0] == ("pb.watch(model, optimizer)", report.coverage.enable[0][1])


def test_too_little_to_judge_is_unknown_and_never_healthy(case):
    for curves in ({}, {"train/loss": [2.0, 1.9, 1.8]}, {"lambda": np.arange(50.0)}, {"val/accuracy": [0.5, 0.6]}):
        assert report_on(case(curves)).status == "unknown", curves


def test_a_broken_short_run_is_still_broken(case):
    report = report_on(case({"train/loss": [2.0, float("nan"), float("nan"), float("nan")]}))
    assert report.status == "critical"


def test_a_report_without_judgment_is_unknown_unless_something_is_wrong():
    empty = RunReport("a", "a", None, "general", {}, judged=False)
    assert empty.status == "unknown"
    assert empty.to_dict()["status"] == "unknown"


def ranked(probability):
    return (RankedCause("lr-too-low", probability, fixes=("Multiply the learning rate by 10.",)),), None


def one_incident(case, probability):
    finding = Finding("gan-imbalance", "warning", "d_loss", 5, 9, "The discriminator has won.", fixes=("Weaken it.",))
    (incident,) = incidents_of([finding], [finding], case({"d_loss": np.ones(10)}), lambda *_: ranked(probability))
    return finding, incident


def test_an_unlikely_cause_does_not_decide_what_to_try(case):
    assert one_incident(case, 0.17)[1].fixes == ("Weaken it.",)
    assert one_incident(case, 0.7)[1].fixes == ("Multiply the learning rate by 10.",)


def test_a_cause_is_called_likely_only_if_it_is():
    assert cause_sentence(ranked(0.17)[0])[0] == "Possible cause"
    assert cause_sentence(ranked(0.7)[0])[0] == "Likely cause"


def test_the_table_names_causes_of_incidents_only(case):
    finding, incident = one_incident(case, 0.7)
    causes = ranked(0.7)[0]
    broken = RunReport("a", "a", (0, 9), "general", {}, findings=(finding,), incidents=(incident,), causes=causes)
    fine = RunReport("b", "b", (0, 9), "general", {}, causes=causes)
    assert {row[0]: row[-1] for row in summary_rows([broken, fine])} == {"a": "lr-too-low 70 %", "b": ""}
