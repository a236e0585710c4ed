"""What a report says first: incidents if it has them, findings if not."""

from types import SimpleNamespace

from zoo.scoring.headlines import checks_run, first_causes, headlines
from zoo_samples import finding, report, report_with_incidents

from pulseboard.core.finding import NotChecked
from pulseboard.diagnose.detector import all_detectors


def test_without_incidents_every_finding_is_a_headline():
    found = headlines(report(finding("loss-nan", "critical"), finding("loss-spike", "info"), causes=["bad-batch"]))
    assert [(one.slug, one.severity, one.alarms) for one in found] == [
        ("loss-nan", "critical", True),
        ("loss-spike", "info", False),
    ]
    assert found[0].causes == ("bad-batch",)


def test_an_incident_is_one_headline_with_the_alarms_among_its_findings():
    findings = [finding("gradient-exploding"), finding("loss-diverged"), finding("loss-spike", "info")]
    (found,) = headlines(report_with_incidents(findings, [("critical", [0, 1, 2], ["lr-too-high"])]))
    assert (found.slug, found.severity, found.text) == ("gradient-exploding", "critical", "Problem 0")
    assert found.slugs == ("gradient-exploding", "loss-diverged")
    assert found.accepted({"loss-diverged"})
    assert not found.accepted({"loss-spike"})


def test_a_report_with_notes_only_has_no_alarms():
    assert not any(one.alarms for one in headlines(report_with_incidents([finding("loss-spike", "info")], [])))


def test_incidents_may_be_dictionaries():
    incident = {"headline": "NaN", "severity": "critical", "findings": [0], "causes": [{"slug": "bad-batch"}]}
    made = SimpleNamespace(findings=[finding("loss-nan", "critical")], causes=(), incidents=[incident])
    assert headlines(made)[0].causes == ("bad-batch",)


def test_the_first_causes_are_those_of_the_first_alarm():
    findings = [finding("loss-spike", "info"), finding("loss-nan", "critical")]
    incidents = [("info", [0], ["batch-size"]), ("critical", [1], ["bad-batch", "lr-too-high"])]
    assert first_causes(report_with_incidents(findings, incidents)) == ["bad-batch", "lr-too-high"]
    assert first_causes(report(finding("loss-nan", "info"), causes=["bad-batch"])) == ["bad-batch"]


def test_checks_that_ran_come_from_the_coverage_or_from_what_was_not_checked():
    covered = report_with_incidents([], [], coverage=SimpleNamespace(ran=3, of=87))
    assert checks_run(covered) == 3
    nothing = SimpleNamespace(not_checked=[NotChecked(slug, "no loss", "") for slug in all_detectors()])
    assert checks_run(nothing) == 0
    one = SimpleNamespace(not_checked=nothing.not_checked[1:])
    assert checks_run(one) == 1
