"""The run of an integration, begun, ended, taken up again and left."""

import pytest

import pulseboard as pb
from pulseboard.integrations.kept_run import KeptRun


def test_a_run_begins_when_it_is_first_needed(settings, tmp_path):
    kept = KeptRun(None, settings)
    kept.end()
    assert kept.begun is None
    assert not (tmp_path / "runs").exists()
    kept.get(run_tag="later")
    kept.end()
    assert kept.begun.id.endswith("-later")


def test_what_follows_an_end_goes_on_with_the_run_and_takes_nothing_back(settings, recorded, told):
    kept = KeptRun(None, {"config": {"rate": 1, "seed": 2}, "run_tag": "tagged", **settings})
    kept.log({"loss": 1.0, "late": 3.0}, step=5)
    kept.get().update_config(rate=9)
    kept.end()
    kept.log({"loss": 2.0}, step=5)
    kept.end(status="failed")
    assert recorded() == {"loss": [(5, 1.0), (5, 2.0)], "late": [(5, 3.0)]}
    assert (told()["config"], told()["status"], told()["resumed"]) == ({"rate": 9, "seed": 2}, "failed", [])
    assert told()["id"].endswith("_001-tagged")


def test_a_training_that_nobody_ended_failed_where_another_follows(settings, tmp_path):
    kept = KeptRun(None, settings)
    first = kept.get()
    kept.leave()
    assert first.finished
    assert kept.get() is not first
    kept.end()
    assert len(list((tmp_path / "runs").glob("*/run.json"))) == 2


def test_a_run_that_was_given_is_never_finished(settings):
    with pb.init(**settings) as run:
        kept = KeptRun(run, {})
        kept.end()
        kept.leave()
        assert kept.get() is run
        assert not run.finished


def test_a_run_and_settings_for_another_are_a_mistake(settings):
    with pb.init(**settings) as run, pytest.raises(ValueError, match="not both: got run= and strict"):
        KeptRun(run, {"strict": True})
