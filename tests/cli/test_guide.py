"""The guide command, on logs that obey a guide and on logs that break it."""

import json

import numpy as np
import pytest
from guided_runs import GOOD_RUNS, flat

import pulseboard as pb


@pytest.fixture(scope="module")
def write_run(tmp_path_factory):
    """Records the curves of a good run, with some replaced."""

    def write(profile, changes=None):
        curves, config = GOOD_RUNS[profile]()
        directory = tmp_path_factory.mktemp(profile)
        with pb.init(dir=directory, run_id=profile, config=config, telemetry_secs=0) as run:
            by_step = {}
            for tag, values in (curves | (changes or {})).items():
                steps, values = values if isinstance(values, tuple) else (np.arange(len(values)), values)
                for step, value in zip(steps.tolist(), values.tolist(), strict=True):
                    by_step.setdefault(step, {})[tag] = value
            for step in sorted(by_step):
                run.log(by_step[step], step=step)
        return directory

    return write


@pytest.fixture(scope="module")
def good_moe(write_run):
    return write_run("moe")


@pytest.fixture(scope="module")
def bad_moe(write_run):
    return write_run("moe", {"moe/expert_utilization": flat(0.4)})


def test_the_guide_of_a_good_run_reads_as_expected(pulseboard, golden, good_moe):
    ran = pulseboard("guide", good_moe)
    assert (ran.code, ran.err) == (0, "")
    golden(ran.out, "guide.txt")


def test_a_broken_rule_fails_the_command_at_its_severity(pulseboard, bad_moe, good_moe):
    assert pulseboard("guide", bad_moe).code == 1
    assert pulseboard("guide", bad_moe, "--fail-on", "info").code == 1
    assert pulseboard("guide", good_moe, "--fail-on", "info").code == 0


def test_a_warning_fails_only_if_warnings_count(pulseboard, write_run):
    directory = write_run("moe", {"moe/load_imbalance": flat(2.7)})
    assert pulseboard("guide", directory).code == 0
    assert pulseboard("guide", directory, "--fail-on", "warning").code == 1


def test_json_has_the_tables(pulseboard, bad_moe):
    document = json.loads(pulseboard("guide", bad_moe, "--json").out)
    (card,) = document["runs"]
    assert (card["run"], card["profile"], card["status"]) == ("moe", "moe", "critical")
    (row,) = [row for row in card["metrics"] if row["tag"] == "moe/expert_utilization"]
    assert (row["value"], row["verdict"], row["grade"]) == (pytest.approx(0.4), "Warning sign", "critical")
    assert [pattern["name"] for pattern in card["patterns"] if pattern["matches"]] == ["Experts are unused"]


def test_python_and_the_command_say_the_same(pulseboard, bad_moe):
    cards = pb.guide(bad_moe)
    assert json.loads(pulseboard("guide", bad_moe, "--json").out) == json.loads(json.dumps(cards.to_dict()))
    assert cards["moe"].status == "critical"
    assert "Warning sign" in str(cards)
    with pytest.raises(KeyError, match="Runs: moe"):
        cards["other"]


def test_a_run_that_no_guide_fits_is_an_error_unless_one_is_chosen(pulseboard, tmp_path):
    with pb.init(dir=tmp_path, run_id="plain", telemetry_secs=0) as run:
        for step in range(10):
            run.log({"train/loss": 1.0 / (step + 1)}, step=step)
    ran = pulseboard("guide", tmp_path)
    assert ran.code == 2
    assert "--profile" in ran.err
    chosen = pulseboard("guide", tmp_path, "--profile", "visualization")
    assert chosen.code == 0
    assert "train/loss" in chosen.out


def test_a_profile_with_a_bad_check_is_reported_with_what_is_wrong(pulseboard, good_moe, tmp_path):
    profile = tmp_path / "mine.toml"
    profile.write_text('extends = "moe"\n[[check]]\nask = "High?"\ntag = "moe/z_loss"\nabovee = 1\n')
    ran = pulseboard("guide", good_moe, "--profile", profile)
    assert ran.code == 2
    assert "a check has no 'abovee'" in ran.err


def test_a_guide_of_ones_own_is_filled_in(pulseboard, good_moe, tmp_path):
    profile = tmp_path / "mine.toml"
    profile.write_text(
        'title = "Ours"\nverdicts = { healthy = "fine" }\n'
        '[[metric]]\ntag = "moe/z_loss"\nhealthy = [0, 1]\n'
        '[[check]]\nask = "Above 3?"\ntag = "moe/load_imbalance"\nabove = 3\n'
        '[[flow]]\nquestion = "Anything?"\nchecks = ["Look at a batch."]\naction = "Think."\n'
    )
    (card,) = pb.guide(good_moe, profile=str(profile))
    assert [(row.tag, row.verdict) for row in card.metrics] == [("moe/z_loss", "fine")]
    assert [answer.reply for answer in card.checks] == ["no"]
    assert [answer.reply for answer in card.flow[0].checks] == ["look yourself"]
    assert "Look at a batch." in pulseboard("guide", good_moe, "--profile", profile).out
