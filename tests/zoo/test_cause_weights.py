"""What is learned about causes, and how it is scored with a base left out."""

from zoo.scoring.cause_tables import by, confusions, log_score, reliability, share
from zoo.scoring.cause_weights import Answer, Sample, answers, as_toml, learn

from pulseboard.core.finding import Finding
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
    healthy = [sample(f"healthy{i}", f"base{i % 3}", "", lr_tiny=False) for i in range(6)]
    return [*low, *labels, *healthy]


def test_a_sign_that_separates_two_causes_is_learned_and_holds_on_the_base_left_out():
    found = answers(taught())
    assert len(found) == 24
    assert share(found) == "100 % (24 of 24)"
    assert log_score(found) > -1.3
    assert "| lr-too-low |" not in confusions(found)


def test_learned_weights_are_valid_and_leave_out_what_says_nothing():
    tables = learn(taught())
    weights = tables["causes"]["lr-too-low"]
    assert weights["sign:lr-tiny"] > 0.8 > tables["usual"]["sign:lr-tiny"] > 0.3
    assert tables["causes"]["labels-misaligned"]["sign:lr-tiny"] < 0.1
    assert tables["healthy"]["sign:lr-tiny"] < 0.3
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


def test_weights_of_findings_are_kept_for_causes_without_trainings():
    kept = {"causes": {"memory-leak": {"memory-growth": 0.9}, "lr-too-low": {"update-too-small": 0.8}}}
    tables = learn(taught(), before=kept)
    assert tables["causes"]["memory-leak"]["memory-growth"] == 0.9
    assert tables["causes"]["lr-too-low"]["update-too-small"] == 0.8
    assert "memory-leak" not in learn(taught())["causes"]
