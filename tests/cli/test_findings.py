"""Findings are reported once, and again only if their severity rises; incidents when they open, change and end."""

import json
from dataclasses import replace

from pulseboard.cli.findings import NewAlerts, NewFindings, print_alert, print_finding
from pulseboard.core.finding import Cost, Finding, Incident, RunReport


def finding(slug, severity="warning", metric="train/loss"):
    return Finding(slug, severity, metric, first_step=3, last_step=9, summary=f"{metric} [is] odd.")


def report(run, *findings):
    return RunReport(
        run=run, path="", steps=(0, 9), profile="general", roles={}, findings=findings, causes=(), next_check=None,
        not_checked=(),
    )  # fmt: skip


def test_a_finding_is_new_once_for_a_run_and_a_metric():
    news, odd = NewFindings(), finding("loss-spike")
    assert news.take(report("a", odd)) == [odd]
    assert news.take(report("a", odd)) == []
    assert news.take(report("b", odd)) == [odd]
    other = finding("loss-spike", metric="val/loss")
    assert news.take(report("a", odd, other)) == [other]


def test_a_finding_is_new_again_if_its_severity_rises():
    news = NewFindings([report("a", finding("overfitting", "info"))])
    warning = finding("overfitting", "warning")
    assert news.take(report("a", warning)) == [warning]
    assert news.take(report("a", warning)) == []


def test_a_finding_is_one_line_with_its_run_and_its_numbers(capsys):
    print_finding("odd[run]", finding("loss-spike"), when="12 s  ")
    assert capsys.readouterr().out == "12 s  odd[run]  warning loss-spike  train/loss [is] odd.\n"


def test_with_json_it_is_one_line_of_json(capsys):
    print_finding("a", finding("loss-spike"), as_json=True)
    printed = json.loads(capsys.readouterr().out)
    assert (printed["run"], printed["slug"], printed["first_step"]) == ("a", "loss-spike", 3)


# ---- incidents


def incident(one, *, is_open=True):
    return Incident(f"{one.slug}@3", "It is odd", one.severity, 3, 9, is_open, Cost("share", 0.5), (0,))


def with_incident(run, one, *, is_open=True):
    return replace(report(run, one), incidents=(incident(one, is_open=is_open),))


def test_each_run_has_incidents_of_its_own_and_known_ones_are_not_new():
    alerts = NewAlerts([with_incident("a", finding("loss-spike"))])
    assert alerts.take(with_incident("a", finding("loss-spike"))) == []
    assert [alert.event for alert in alerts.take(with_incident("b", finding("loss-spike")))] == ["opened"]
    assert [alert.event for alert in alerts.take(with_incident("a", finding("loss-diverged")))] == ["updated"]
    assert [alert.event for alert in alerts.take(with_incident("a", finding("loss-diverged"), is_open=False))] == [
        "closed"
    ]


def test_an_incident_is_one_line_that_says_what_happened_to_it(capsys):
    alerts = NewAlerts()
    for is_open in (True, False):
        for alert in alerts.take(with_incident("odd[run]", finding("loss-spike"), is_open=is_open)):
            print_alert("odd[run]", alert)
    assert capsys.readouterr().out == (
        "odd[run]  opened  warning loss-spike  It is odd. train/loss [is] odd.\n"
        "odd[run]  closed  warning loss-spike  Over since step 9: It is odd.\n"
    )


def test_with_json_an_incident_keeps_the_fields_of_a_finding(capsys):
    (alert,) = NewAlerts().take(with_incident("a", finding("loss-spike")))
    print_alert("a", alert, as_json=True)
    printed = json.loads(capsys.readouterr().out)
    assert (printed["run"], printed["slug"], printed["severity"]) == ("a", "loss-spike", "warning")
    assert (printed["event"], printed["id"], printed["incident"]["headline"]) == ("opened", "loss-spike@3", "It is odd")
