"""The run of an integration: started, closed, reopened and replaced."""

import pytest

import pulseboard as pb
from pulseboard.integrations.managed_run import ManagedRun


def test_a_run_starts_when_it_is_first_needed(settings, tmp_path):
    managed = ManagedRun(None, settings)
    managed.close()
    assert managed.current is None
    assert not (tmp_path / "runs").exists()
    managed.open(run_tag="later")
    managed.close()
    assert managed.current.id.endswith("-later")


def test_logging_after_the_end_continues_the_run_and_orphans_nothing(settings, recorded, run_json):
    managed = ManagedRun(None, {"config": {"rate": 1, "seed": 2}, "run_tag": "tagged", **settings})
    managed.log({"loss": 1.0, "late": 3.0}, step=5)
    managed.open().update_config(rate=9)
    managed.close()
    managed.log({"loss": 2.0}, step=5)
    managed.close(status="failed")
    assert recorded() == {"loss": [(5, 1.0), (5, 2.0)], "late": [(5, 3.0)]}
    assert (run_json()["config"], run_json()["status"], run_json()["resumed"]) == ({"rate": 9, "seed": 2}, "failed", [])
    assert run_json()["id"].endswith("_001-tagged")


def test_a_training_that_did_not_end_counts_as_failed_when_another_follows(settings, tmp_path):
    managed = ManagedRun(None, settings)
    first = managed.open()
    managed.start_over()
    assert first.finished
    assert managed.open() is not first
    managed.close()
    assert len(list((tmp_path / "runs").glob("*/run.json"))) == 2


def test_a_run_passed_by_the_user_is_never_finished(settings):
    with pb.init(**settings) as run:
        managed = ManagedRun(run, {})
        managed.close()
        managed.start_over()
        assert managed.open() is run
        assert not run.finished


def test_a_run_together_with_settings_is_refused(settings):
    with pb.init(**settings) as run, pytest.raises(ValueError, match="not both: got run= and strict"):
        ManagedRun(run, {"strict": True})
