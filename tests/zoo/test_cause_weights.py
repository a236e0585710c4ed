"""What is learned about causes, and how it is scored with a base left out."""

from dataclasses import replace

import pytest
from zoo.scoring.cause_tables import by, confusions, log_score, reliability, share
from zoo.scoring.cause_weights import Answer, Sample, answers, as_toml, learn

from pulseboard.core.finding import Finding
from pulseboard.diagnose.judge.causes import causes_with
from pulseboard.diagnose.judge.conditions import CauseConditions


def sample(name, base, cause, *slugs, **signs):
    findings = tuple(Finding(slug, "warning", "loss", 0, 9, "") for slug in slugs)
    answered = {f"sign:{key.replace('_', '-')}": value for key, value in signs.items()}
    known = CauseConditions(gradients=True, evaluated=True)
    causes = (cause,) if cause else ()
    return Sample(name, base, "CSV", causes, frozenset(slugs), findings, frozenset(), answered, known)


def taught():
    """Two causes with the same finding, which one sign tells apart."""
    low = [sample(f"low{i}", f"base{i % 3}", "lr-too-low", "loss-flat", lr_tiny=True) for i in range(12)]
    labels = [sample(f"labels{i}", f"base{i % 3}", "labels-misaligned", "loss-flat", lr_tiny=False) for i in range(12)]
    healthy = [sample(f"healthy{i}", f"base{i % 3}", "", lr_tiny=False) for i in range(60)]
    return [*low, *labels, *healthy]


def test_a_sign_that_separates_two_causes_is_learned_and_holds_on_the_base_left_out():
    found = answers(taught())
    assert len(found) == 24
    assert share(found) == "100 % (24 of 24)"
    assert log_score(found) > -1.6  # 43 causes: an even guess is -3.8
    assert "| lr-too-low |" not in confusions(found)


def test_learned_weights_are_valid_and_leave_out_what_says_nothing():
    tables = learn(taught())
    weights = tables["causes"]["lr-too-low"]
    assert weights["sign:lr-tiny"] > 0.65 > tables["usual"]["sign:lr-tiny"] > 0.3
    assert tables["causes"]["labels-misaligned"]["sign:lr-tiny"] < 0.05
    assert tables["healthy"]["sign:lr-tiny"] < tables["usual"]["sign:lr-tiny"]
    text = as_toml(tables)
    assert all(head in text for head in ("[causes.lr-too-low]", "[usual]", "[healthy]"))


def test_reliability_compares_what_was_stated_with_what_was_right():
    one, other = sample("a", "b", "lr-too-low"), sample("c", "b", "data-shift")
    stated = [
        Answer(one, "lr-too-low", ("lr-too-low",), 0.9, 0.9),
        Answer(other, "lr-too-low", ("lr-too-low",), 0.9, 0.1),
    ]
    assert reliability(stated).splitlines()[-1] == "| 85 to 100 % | 2 | 90 % | 50 % |"


def test_the_share_of_found_counts_only_faults_with_a_matching_alarm():
    seen = sample("a", "x", "lr-too-low", "loss-flat")
    unseen = sample("b", "y", "lr-too-low")
    found = [
        Answer(seen, "lr-too-low", ("lr-too-low",), 0.9, 0.9),
        Answer(unseen, "data-shift", ("data-shift",), 0.4, 0.1),
    ]
    rows = by(found, "base", lambda one: one.sample.base).splitlines()[2:]
    assert rows == [
        "| x | 100 % (1 of 1) | 100 % (1 of 1) |",
        "| y | 0 % (0 of 1) | none |",
        "| all | 50 % (1 of 2) | 100 % (1 of 1) |",
    ]


def test_a_weight_starts_halfway_between_what_people_wrote_and_what_was_learned_before():
    before = {"causes": {"memory-leak": {"memory-growth": 0.5}, "lr-too-low": {"eval-noisy": 0.8}}}
    tables = learn(taught(), before=before)
    # causes.toml says 0.95: odds of 19 and of 1 meet at the root of 19.
    assert tables["causes"]["memory-leak"]["memory-growth"] == pytest.approx(19**0.5 / (1 + 19**0.5), abs=1e-3)
    assert tables["causes"]["lr-too-low"]["eval-noisy"] == 0.8
    assert "memory-leak" not in learn(taught())["causes"]


def test_few_trainings_move_a_weight_only_a_little():
    few, many = (
        learn([sample(f"a{i}", "b", "lr-too-low", "loss-flat", falls_straight=False) for i in range(n)])
        for n in (4, 400)
    )
    written = causes_with({})["lr-too-low"].brings["sign:falls-straight"]
    rates = [tables["causes"]["lr-too-low"]["sign:falls-straight"] for tables in (few, many)]
    assert written > rates[0] > 0.9 * written
    assert rates[1] < 0.2


def test_a_slow_loader_is_taught_nothing_about_losses():
    slow = [
        sample(f"slow{i}", "b", "dataloader-bottleneck", "data-stall", slower=True, lr_tiny=True) for i in range(30)
    ]
    known = CauseConditions(times=True)
    weights = learn(replace(one, conditions=known) for one in slow)["causes"]["dataloader-bottleneck"]
    assert "sign:slower" in weights
    assert "sign:lr-tiny" not in weights


def test_a_base_that_was_learned_from_before_is_scored_without_that():
    new = [replace(one, is_new=True) for one in taught()]
    assert [one.given_to_truth for one in answers(new)] != [one.given_to_truth for one in answers(taught())]
