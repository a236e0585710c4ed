"""Each figure of the score on published logs, counted by hand."""

import pytest
from zoo.scoring.figures import COLUMNS, Share, alarm_lines, figures, missed_lines
from zoo.scoring.matching import cases
from zoo_samples import diagnosed, headline, verdict


@pytest.fixture
def judged():
    """Ten trainings: two healthy, five problems, a minor one, one unscored, one without a verdict."""
    runs = [
        diagnosed("quiet", logged_steps=3000),
        diagnosed("flagged", headline("loss-spike"), headline("overfitting"), status="warning", logged_steps=2000),
        diagnosed("found", headline("loss-nan", "critical"), headline("lr-jump"), status="critical"),
        diagnosed("missed", headline("overfitting", "info"), status="info"),
        diagnosed("wrong", headline("loss-diverged", "critical"), status="critical"),
        diagnosed("half", headline("overfitting"), status="warning"),
        diagnosed("mild", headline("best-checkpoint-missed"), status="warning"),
        diagnosed("unclear", headline("loss-flat"), status="warning"),
        diagnosed("green", checks=0),
    ]
    verdicts = [
        verdict("quiet", "healthy"),
        verdict("flagged", "insufficient-data", "low"),
        verdict("found", "nan"),
        verdict("missed", "overfitting"),
        verdict("wrong", "rl-collapse", "medium"),
        verdict("half", "generalization-gap", "medium"),
        verdict("mild", "overfitting-mild", "medium"),
        verdict("unclear", "ambiguous"),
        verdict("gone", "diverged"),
    ]
    return cases(runs, verdicts)


def test_alarms_are_right_if_the_verdict_accepts_them(judged):
    found = figures(judged)
    # Right: loss-nan, overfitting of "half", best-checkpoint-missed. Wrong: both of "flagged", lr-jump, loss-diverged.
    assert found.alarms_right == Share(3, 7)
    assert found.critical_right == Share(1, 2)


def test_a_flagged_run_is_right_if_its_first_headline_is(judged):
    assert figures(judged).runs_right == Share(3, 5)


def test_any_alarm_on_a_healthy_run_is_a_false_one(judged):
    found = figures(judged)
    assert found.healthy_flagged == Share(1, 2)
    assert (found.false_alarms, found.healthy_steps) == (2, 5000)
    assert found.false_alarm_rate == 4.0


def test_problems_need_an_accepted_alarm_and_minor_ones_are_not_counted(judged):
    found = figures(judged)
    assert found.high_found == Share(1, 3)  # "found"; neither "missed" nor "gone", whose run was not read
    assert found.medium_found == Share(1, 2)  # "half", not "wrong"
    assert found.unread == 1


def test_headlines_are_counted_on_broken_runs_that_were_flagged(judged):
    found = figures(judged)
    assert (found.headlines, found.broken) == (4, 3)
    assert found.headlines_per_broken_run == pytest.approx(4 / 3)


def test_green_runs_without_a_check_are_counted_labeled_or_not(judged):
    assert figures(judged).green_unchecked == Share(1, 9)


def test_a_run_that_is_unknown_is_not_green():
    (case,) = cases([diagnosed("run", status="unknown", checks=0)], [])
    assert figures([case]).green_unchecked == Share(0, 1)


def test_alarms_without_a_verdict_are_counted_apart():
    found = figures(cases([diagnosed("run", headline("loss-nan", "critical"))], []))
    assert found.unlabeled_alarms == 1
    assert found.alarms_right == Share(0, 0)


def test_a_row_has_one_cell_for_each_column(judged):
    cells = figures(judged).cells()
    assert len(cells) == len(COLUMNS)
    assert cells[0] == "60 % (3 of 5)"
    assert cells[4] == "4.00 (2 in 5000)"
    assert cells[-1] == "1 of 9"


def test_the_listing_puts_wrong_alarms_first_and_names_run_label_and_summary(judged):
    lines = alarm_lines(judged)
    assert [line.split()[0] for line in lines] == ["wrong"] * 4 + ["unscored"] + ["right"] * 3
    assert lines[0].split() == [
        *("wrong", "critical", "loss-diverged", "wild/a+b/wrong", "[rl-collapse", "(medium)]"),
        *("loss-diverged", "is", "here"),
    ]


def test_the_listing_of_missed_problems_says_what_was_reported_instead(judged):
    text = "\n".join(missed_lines(judged))
    assert "wild/a+b/missed" in text
    assert "said: info:overfitting" in text
    assert "said: not read" in text
    assert "wild/a+b/found" not in text
    assert "wild/a+b/mild" not in text
