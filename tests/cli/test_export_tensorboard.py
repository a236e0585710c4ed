"""`pulseboard export --format tensorboard`: event files of any log, which TensorBoard reads."""

import json
import math

import pytest
from corpus import need_wild
from log_directories import write_run
from other_formats import points, written
from reference import accumulate, scalars_by_tensorboard

import pulseboard as pb


@pytest.fixture
def logs(tmp_path):
    """A run of event files with a restart, one of Lightning with settings, and JSON lines without wall times."""
    written(tmp_path / "logs" / "a" / "metrics.csv", "step,loss,acc\n0,2.5,0.1\n10,nan,0.2\n")
    written(tmp_path / "logs" / "a" / "hparams.yaml", "lr: 0.1\n")
    written(tmp_path / "logs" / "b" / "log.jsonl", "".join(f'{{"step": {i}, "loss": {i / 3}}}\n' for i in range(5)))
    write_run(tmp_path / "logs" / "events", (0, 7.0), (1, 8.0), wall_time=1e9)
    return tmp_path / "logs"


def _everything(runs):
    return {
        name: {
            tag: [
                (step, 0.0 if math.isnan(wall) else wall, str(value))
                for step, wall, value in zip(*(getattr(series, c).tolist() for c in columns), strict=True)
            ]
            for tag in run.tags("scalar")
            for series in [run.series(tag)]
        }
        for columns in [("steps", "wall_times", "values")]
        for name, run in runs.items()
    }


def test_every_run_of_every_format_becomes_event_files_with_the_same_points(pulseboard, logs, tmp_path):
    ran = pulseboard("export", logs, "--format", "tensorboard", "-o", tmp_path / "out")
    assert (ran.code, ran.err) == (0, "")
    assert f"Wrote 11 points of 3 runs to {tmp_path / 'out'}" in ran.out
    before, after = pb.read(logs), pb.read(tmp_path / "out")
    assert set(after) == {"a", "b/log.jsonl", "events"}
    assert {run.format for run in after.values()} == {"event-file"}
    assert _everything(after) == _everything(before)
    assert after["a"].hparams().values == {"lr": 0.1}
    by_tensorboard = scalars_by_tensorboard(accumulate(tmp_path / "out" / "b" / "log.jsonl"))
    assert len(by_tensorboard["loss"]) == 5


def test_runs_and_tags_can_be_chosen_and_the_summary_is_json(pulseboard, logs, tmp_path):
    options = ("-f", "tensorboard", "-o", tmp_path / "out", "-r", "^a$", "-t", "acc", "--json")
    ran = pulseboard("export", logs, *options)
    assert json.loads(ran.out) == {
        "schema": 1,
        "output": str(tmp_path / "out"),
        "format": "tensorboard",
        "runs": 1,
        "points": 2,
    }
    runs = pb.read(tmp_path / "out")
    assert (list(runs), runs["a"].tags("scalar")) == (["a"], ["acc"])
    assert points(runs["a"], "acc") == [(0, 0.1), (10, 0.2)]


def test_a_directory_is_required_and_event_files_are_never_added_to(pulseboard, logs, tmp_path):
    ran = pulseboard("export", logs, "-f", "tensorboard")
    assert ran.code != 0
    assert "-o DIR" in ran.err
    assert pulseboard("export", logs, "-f", "tensorboard", "-o", tmp_path / "out").code == 0
    before = sorted((tmp_path / "out").rglob("*"))
    ran = pulseboard("export", logs, "-f", "tensorboard", "-o", tmp_path / "out")
    assert ran.code != 0
    assert "already contains event files" in ran.err
    assert sorted((tmp_path / "out").rglob("*")) == before
    written(tmp_path / "file", "x")
    assert "The export failed" in pulseboard("export", logs, "-f", "tensorboard", "-o", tmp_path / "file").err


@pytest.mark.parametrize("folder", ["AtariRL+atari-pytorch", "1010sb+ImageClass"])
def test_real_logs_have_the_same_points_as_event_files(pulseboard, tmp_path, folder):
    top = need_wild() / folder
    assert pulseboard("export", top, "-f", "tensorboard", "-o", tmp_path / "out").code == 0
    before, after = _everything(pb.read(top)), _everything(pb.read(tmp_path / "out"))
    assert {name: {t: sorted(p) for t, p in tags.items()} for name, tags in after.items()} == {
        name: {t: sorted(p) for t, p in tags.items()} for name, tags in before.items()
    }
