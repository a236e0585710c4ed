"""One call for every run: event files and other formats together, and a training that was logged twice is one run."""

import json
import math

import pytest
from log_directories import write_run
from other_formats import points, written

import pulseboard as pb
from pulseboard.core.errors import RunNotFound
from pulseboard.read import any_runs
from pulseboard.read.parsed_run import ParsedRun

CSV = "step,loss\n0,2.5\n1,1.5\n2,0.1\n"


def test_runs_of_every_format_are_in_one_mapping(tmp_path):
    write_run(tmp_path / "events", (0, 1.0))
    written(tmp_path / "lightning" / "version_3" / "metrics.csv", CSV)
    written(tmp_path / "other" / "train.log", "step 1: loss 2.0\nstep 2: loss 1.0\n")
    runs = any_runs(tmp_path)
    assert set(runs) == {"events", "lightning/version_3", "other/train.log"}
    assert points(runs["lightning/version_3"], "loss") == [(0, 2.5), (1, 1.5), (2, 0.1)]
    assert [run.name for run in runs.of_other_formats()] == [name for name in runs if name != "events"]
    assert pb.read.any_runs(tmp_path).keys() == runs.keys()
    assert len(runs.to_pandas()) == 1 + 3 + 2
    with pytest.raises(RunNotFound, match="Nearest: 'events'"):
        runs["event"]


def test_the_most_recently_active_comes_first_whatever_its_format(tmp_path):
    write_run(tmp_path / "old", wall_time=1e9)
    write_run(tmp_path / "new", wall_time=2e9)
    written(tmp_path / "log.csv", "step,timestamp,loss\n0,1500000000,1\n")
    assert list(any_runs(tmp_path)) == ["new", "log.csv", "old"]


def test_one_file_of_any_format_is_one_run(tmp_path):
    path = written(tmp_path / "log.csv", CSV)
    assert list(any_runs(path)) == ["log.csv"]
    event_file = write_run(tmp_path / "run", (0, 1.0))
    assert list(any_runs(event_file)) == [event_file.name]
    renamed = event_file.rename(tmp_path / "renamed.bin")
    assert any_runs(renamed)["renamed.bin"].points == 1


def test_several_paths_are_named_as_for_event_files(tmp_path):
    written(tmp_path / "a" / "log.csv", CSV)
    written(tmp_path / "b" / "x" / "metrics.csv", CSV)
    runs = any_runs(tmp_path / "a", f"mine:{tmp_path / 'b'}")
    assert set(runs) == {"a/log.csv", "mine/x"}
    runs = any_runs(f"mine:{tmp_path / 'b' / 'x'}")
    assert list(runs) == ["mine/."]
    assert runs["mine"] is runs["mine/."]


def test_runs_with_the_same_name_get_distinct_names(tmp_path):
    write_run(tmp_path / "run", (0, 9.0), tag="other")
    written(tmp_path / "run" / "metrics.csv", CSV)
    written(tmp_path / "x" / "run-a.wandb", b"")
    assert set(any_runs(tmp_path)) == {"run", "run/metrics.csv"}


# ---- the same training twice


def test_a_copy_next_to_event_files_is_not_a_second_run(tmp_path):
    write_run(tmp_path / "run", (0, 2.5), (1, 1.5), (2, 0.1))
    written(tmp_path / "run" / "metrics.csv", CSV)
    assert list(any_runs(tmp_path)) == ["run"]


def test_a_log_with_one_more_tag_adds_it_to_the_run(tmp_path):
    write_run(tmp_path / "run", (0, 2.5), (1, 1.5), (2, 0.1))
    written(tmp_path / "run" / "metrics.csv", "step,loss,acc\n0,2.5,0\n1,1.5,0\n2,0.1,0\n")
    runs = any_runs(tmp_path)
    assert list(runs) == ["run"]
    assert runs["run"] is runs["run/metrics.csv"]
    assert runs["run"].tags() == ["loss", "acc"]
    assert points(runs["run"], "acc") == [(0, 0.0), (1, 0.0), (2, 0.0)]
    assert runs["run"].points == 6


def test_a_log_with_the_same_tags_and_other_points_is_a_run_of_its_own(tmp_path):
    write_run(tmp_path / "run", (0, 2.5), (1, 9.5), (2, 9.1))
    written(tmp_path / "run" / "metrics.csv", CSV)
    assert set(any_runs(tmp_path)) == {"run", "run/metrics.csv"}


def test_a_copy_that_is_a_little_behind_or_ahead_is_still_a_copy(tmp_path):
    write_run(tmp_path / "run", *((step, step / 7) for step in range(10)))
    for last in (6, 14):
        rows = "".join(f"{step},{step / 7}\n" for step in range(last))
        written(tmp_path / "run" / "metrics.csv", "step,loss\n" + rows)
        assert list(any_runs(tmp_path)) == ["run"]


def test_a_sibling_log_with_the_same_schedule_is_a_run_of_its_own(tmp_path):
    write_run(tmp_path / "logs" / "a", (0, 0.0), (1, 1.0), tag="train/epoch")
    write_run(tmp_path / "logs" / "a", (0, 3.0), (1, 2.0), tag="train/loss", name="events.out.tfevents.2")
    history = [{"step": step, "epoch": step, "loss": 9.0 - step} for step in range(2)]
    written(tmp_path / "results" / "trainer_state.json", json.dumps({"log_history": history}))
    assert set(any_runs(tmp_path)) == {"logs/a", "results"}
    history = [{"step": step, "epoch": step, "loss": 3.0 - step} for step in range(2)]
    written(tmp_path / "results" / "trainer_state.json", json.dumps({"log_history": history}))
    assert set(any_runs(tmp_path)) == {"logs/a"}


def test_our_json_log_next_to_its_event_files_is_the_same_run(tmp_path):
    with pb.init(dir=tmp_path, run_id="mine", report_to=["tensorboard", "json"], telemetry_secs=0, strict=True) as run:
        for step in range(20):
            run.log({"train/loss": math.nan if step == 5 else 1.0 / (step + 1), "train/lr": 0.1}, step=step)
    assert (tmp_path / "mine" / "training.json").is_file()
    runs = any_runs(tmp_path)
    assert list(runs) == ["mine"]
    assert not isinstance(runs["mine"], ParsedRun)
    # Without the event files, the JSON log is the run.
    for path in (tmp_path / "mine" / "logs" / "tensorboard").iterdir():
        path.unlink()
    runs = any_runs(tmp_path)
    assert points(runs["mine"], "train/loss")[5] == (5, "nan")
    assert len(runs["mine"].series("train/lr")) == 20


def test_two_lightning_loggers_of_one_version_are_one_run(tmp_path):
    pytest.importorskip("lightning")
    from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

    loggers = [CSVLogger(tmp_path, name="exp", version=0), TensorBoardLogger(tmp_path, name="exp", version=0)]
    for logger in loggers:
        for step in range(10):
            logger.log_metrics({"train_loss": 1.0 / (step + 3), "epoch": step // 5}, step=step)
        logger.save()
        logger.finalize("success")
    assert (tmp_path / "exp" / "version_0" / "metrics.csv").is_file()
    runs = any_runs(tmp_path)
    assert list(runs) == ["exp/version_0"]
    assert not isinstance(runs["exp/version_0"], ParsedRun)


# ---- notes


def test_notes_of_every_format_are_listed_together(tmp_path):
    write_run(tmp_path / "events", (0, 1.0))
    written(tmp_path / "log.csv", "step,loss\n0,1\n1,abc\n")
    written(tmp_path / "cut" / "trainer_state.json", '{"log_history": [')
    runs = any_runs(tmp_path)
    assert set(runs) == {"events", "log.csv"}
    assert sorted(note.level for note in runs.notes()) == ["damage", "unreadable"]
