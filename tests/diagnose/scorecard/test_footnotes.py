"""Footnotes from measurement: which rules healthy trainings break."""

import sys

import pytest
from guided_runs import GOOD_RUNS, flat, metric
from zoo.scoring import guide_rules

from pulseboard.diagnose.profile import load_profile
from pulseboard.diagnose.scorecard import footnotes
from pulseboard.diagnose.scorecard.footnotes import RANGE, STAGES, measured

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RANK = "train/collapse/level{i}_effective_rank"
RULES = [
    (profile, tag, rule)
    for profile, tags in tomllib.loads(guide_rules.TARGET.read_text(encoding="utf-8")).items()
    for tag, rules in tags.items()
    for rule in rules
]


def good(case, profile, **changes):
    curves, config = GOOD_RUNS[profile]()
    return case(curves | changes, config=config, profile=profile)


@pytest.mark.parametrize(("profile", "tag", "rule"), RULES)
def test_every_measured_rule_is_in_its_profile(profile, tag, rule):
    known = load_profile(profile)
    asked = {(check.tag, check.ask) for check in known.checks}
    asked |= {(one.tag, RANGE) for one in known.metrics if one.bands}
    asked |= {(one.tag, STAGES) for one in known.metrics if one.stages}
    assert (tag, rule) in asked
    broken, compared = measured(profile, tag, rule)
    assert 0 <= broken <= compared
    assert compared > 0


def test_a_range_that_healthy_trainings_leave_has_a_footnote_if_the_run_leaves_it(card):
    broken, compared = measured("hjepa", RANK, RANGE)
    assert broken > 0
    note = f"{broken} of {compared} healthy trainings break this rule"
    tag = RANK.format(i=1)
    assert note in metric(card("hjepa", {tag: flat(100)}), tag).notes
    assert note not in metric(card("hjepa"), tag).notes


def test_stages_that_healthy_trainings_miss_have_a_footnote_if_the_run_misses_one(card):
    tag = "train/loss/h1"
    broken, compared = measured("hjepa", tag, STAGES)
    assert broken > 0
    note = f"{broken} of {compared} healthy trainings break this rule"
    (missed,) = [row for row in card("hjepa", {tag: flat(5)}).stages if row.tag == tag]
    (met,) = [row for row in card("hjepa").stages if row.tag == tag]
    assert note in missed.notes
    assert note not in met.notes


def test_a_check_that_healthy_trainings_fail_has_a_footnote(card):
    tag, ask = "Loss/validation", "Far above the training loss: more than 1.2 times?"
    broken, compared = measured("gpt", tag, ask)
    assert broken > 0
    (answer,) = [one for one in card("gpt", {tag: flat(9)}).checks if one.ask == ask]
    assert f"{broken} of {compared} healthy trainings break this rule" in answer.notes


def test_a_rule_that_was_not_measured_or_never_broken_has_no_footnote():
    assert footnotes.measured_note("hjepa", RANK, "no such rule") == ()
    assert footnotes.measured_note("own", RANK, RANGE) == ()


def test_a_run_that_obeys_its_guide_breaks_none_of_the_counted_rules(case):
    found = dict(guide_rules.rules_of(good(case, "hjepa")))
    assert ("hjepa", RANK, RANGE) in found
    assert ("hjepa", "train/loss/total", STAGES) in found
    assert [rule for rule, bad in found.items() if bad] == []


def test_one_level_outside_its_range_breaks_the_rule(case):
    changed = good(case, "hjepa", **{RANK.format(i=2): flat(100)})
    assert [rule for rule, bad in guide_rules.rules_of(changed) if bad] == [("hjepa", RANK, RANGE)]


def test_another_training_is_compared_by_role_and_only_with_rules_that_hold_for_any_model(case):
    seen = guide_rules.as_seen_by(load_profile("gpt"), good(case, "moe"))
    assert {"Loss/train", "Loss/validation"} <= set(seen.tracks)
    assert "Evaluation/hellaswag_accuracy" not in seen.tracks
    rules = [(tag, rule) for (_, tag, rule), _ in guide_rules.checks_of(seen, relative=True)]
    assert ("Loss/train", "Down by 5 % or more?") in rules
    hjepa = guide_rules.as_seen_by(load_profile("hjepa"), good(case, "moe"))
    tags = {tag for (_, tag, _), _ in guide_rules.checks_of(hjepa, relative=True)}
    assert "train/performance/samples_per_second" not in tags


def test_counts_are_kept_as_toml():
    text = guide_rules.as_toml({("gpt", 'a "b"', "Above 1?"): (2, 5), ("gpt", 'a "b"', RANGE): (0, 5)})
    assert tomllib.loads(text) == {"gpt": {'a "b"': {"Above 1?": [2, 5], RANGE: [0, 5]}}}
    assert guide_rules.table({("gpt", "x", RANGE): (0, 5), ("gpt", "y", RANGE): (1, 5)}).count("\n") == 2
