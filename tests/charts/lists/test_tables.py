"""Tables: what they show of metrics and settings, and how much they read for it."""

import random

import numpy as np
import pytest
from builders import event_file, scalars, session_start, version
from log_directories import append, write_run
from series_files import write_series

import pulseboard as pb
from pulseboard.charts.local import LocalCharts
from pulseboard.charts.query import Query
from pulseboard.read.event_files.run import EventFileRun


def metrics_of(charts, tag="loss"):
    return {row.run: str(row.metrics.get(tag)) for row in charts.table(metrics=[tag]).rows}


@pytest.mark.parametrize("seed", range(20))
def test_a_metric_is_the_same_with_and_without_a_curve(tmp_path, seed, monkeypatch):
    rng = random.Random(seed)
    choices = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.5, -2.5]
    odd = [rng.choice(choices) for _ in range(rng.choice([1, 2, 7, 300, 4096, 4097]))]
    write_series(tmp_path / "odd" / "events.out.tfevents.1", range(5, 5 + len(odd)), np.array(odd, np.float32))
    write_series(tmp_path / "nan" / "events.out.tfevents.1", range(3), np.full(3, np.nan, np.float32))
    found = metrics_of(LocalCharts(pb.read(tmp_path)))
    monkeypatch.setattr(LocalCharts, "_summary_of_file", lambda *_: None)
    assert metrics_of(LocalCharts(pb.read(tmp_path))) == found
    assert "last=nan, last_step=2, min=nan, min_step=0, max=nan, max_step=0" in found["nan"]


def test_short_series_take_no_curve_and_all_others_are_right(tmp_path):
    for i in range(10):
        write_run(tmp_path / f"short{i}", (1, 3.0), (2, float(i)))
    charts = LocalCharts(pb.read(tmp_path))
    metrics_of(charts)
    assert not charts._kept._curves
    append(tmp_path / "short3" / "events.out.tfevents.1", (3, -7.0))
    restarted = event_file(
        version(), *scalars("loss", (1, 1.0), (9, -99.0)), session_start(5), *scalars("loss", (5, 4.0))
    )
    (tmp_path / "restarted").mkdir()
    (tmp_path / "restarted" / "events.out.tfevents.1").write_bytes(restarted)
    write_run(tmp_path / "two", (1, 1.0))
    write_run(tmp_path / "two", (2, 0.5), name="events.out.tfevents.2")
    charts.refresh()
    rows = {row.run: row.metrics["loss"] for row in charts.table(metrics=["loss"]).rows}
    assert (rows["short3"].last, rows["short3"].min_step) == (-7.0, 3)
    assert (rows["restarted"].min, rows["restarted"].last_step) == (1.0, 5), "the orphaned point does not count"
    assert (rows["two"].last, rows["two"].max) == (0.5, 1.0)
    assert rows["short4"].last == 4.0


def test_a_run_json_is_read_again_only_if_it_has_changed(tmp_path):
    for name in ("a", "b"):
        write_run(tmp_path / name / "logs" / "tensorboard", (0, 1.0))
        (tmp_path / name / "run.json").write_text('{"config": {"lr": 0.1}}')
    charts = LocalCharts(pb.read(tmp_path))
    assert [row.config for row in charts.table().rows] == [{"lr": 0.1}] * 2
    charts.table()
    charts.run_summaries()
    charts.window(Query(runs=["a", "b"], tags=["loss"]))  # looks for forks
    assert charts._run_files.reads == 2
    (tmp_path / "a" / "run.json").write_text('{"config": {"lr": 0.25}}')
    assert {row.run: row.config["lr"] for row in charts.table().rows} == {"a": 0.25, "b": 0.1}
    assert charts._run_files.reads == 3


def test_hyperparameters_are_read_again_only_if_the_run_has_grown(tmp_path, monkeypatch):
    with pb.init(dir=tmp_path, run_id="r", telemetry_secs=0) as run:
        run.hparams({"lr": 0.1})
        run.flush()
        charts = LocalCharts(pb.read(tmp_path))
        read = []
        values = EventFileRun.values
        monkeypatch.setattr(
            EventFileRun, "values", lambda self, *args, **named: read.append(args) or values(self, *args, **named)
        )
        assert [charts.table().rows[0].hparams for _ in range(2)] == [{"lr": 0.1}] * 2
        assert len(read) == 1  # the start of the session; the experiment holds no values
        run.hparams({"batch": 8})
        run.flush()
        charts.refresh()
        assert charts.table().rows[0].hparams == {"lr": 0.1, "batch": 8}
