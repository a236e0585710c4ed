"""Findings are reported once, and again only if their severity rises."""

import json

from pulseboard.cli.findings import NewFindings, print_finding
from pulseboard.core.finding import Finding, RunReport


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
