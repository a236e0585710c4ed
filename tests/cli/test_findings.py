"""Findings are told once as they appear, and again only where they became graver."""

import json

from pulseboard.cli.findings import News, print_finding
from pulseboard.core.finding import Finding, RunReport


def finding(slug, severity="warning", metric="train/loss"):
    return Finding(slug, severity, metric, first_step=3, last_step=9, summary=f"{metric} [is] odd.")


def report(run, *findings):
    return RunReport(
        run=run, path="", steps=(0, 9), profile="general", roles={}, findings=findings, causes=(), next_check=None,
        not_checked=(),
    )  # fmt: skip


def test_a_finding_is_new_once_for_a_run_and_a_metric():
    news, odd = News(), finding("loss-spike")
    assert news.of(report("a", odd)) == [odd]
    assert news.of(report("a", odd)) == []
    assert news.of(report("b", odd)) == [odd]
    other = finding("loss-spike", metric="val/loss")
    assert news.of(report("a", odd, other)) == [other]


def test_a_finding_that_became_graver_is_new_again():
    news = News([report("a", finding("overfitting", "info"))])
    grave = finding("overfitting", "warning")
    assert news.of(report("a", grave)) == [grave]
    assert news.of(report("a", grave)) == []


def test_a_finding_is_one_line_with_its_run_and_its_numbers(capsys):
    print_finding("odd[run]", finding("loss-spike"), when="12 s  ")
    assert capsys.readouterr().out == "12 s  odd[run]  warning loss-spike  train/loss [is] odd.\n"


def test_for_programs_it_is_json(capsys):
    print_finding("a", finding("loss-spike"), as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["run"], told["slug"], told["first_step"]) == ("a", "loss-spike", 3)
