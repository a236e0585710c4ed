"""Charts over log directories: lists of runs and tags, tables, and new data."""

import json
import math
import os
import shutil
import threading
import time

import numpy as np
import pytest
from builders import event_file, scalars, session_start, version
from log_directories import append, write_run

import pulseboard as pb
from pulseboard.charts.local import LocalCharts
from pulseboard.charts.query import BadQuery, Query
from pulseboard.core.errors import RunNotFound
from pulseboard.core.tag_names import better_end


@pytest.fixture
def charts(tmp_path):
    write_run(tmp_path / "a", (1, 1.0), (2, math.nan), (5, 0.5), (7, 3.0), tag="train/loss")
    write_run(tmp_path / "b" / "c", (1, 2.0), tag="accuracy")
    return LocalCharts(pb.read(tmp_path))


def wait_until(condition):
    deadline = time.monotonic() + 120
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


# ---- lists


def test_a_summary_describes_a_run(tmp_path):
    path = tmp_path / "r" / "events.out.tfevents.1"
    path.parent.mkdir()
    path.write_bytes(
        event_file(version(), *scalars("loss", (1, 1.0), (9, 1.0)), session_start(5), *scalars("loss", (5, 2.0)))
    )
    [run] = LocalCharts(pb.read(tmp_path)).run_summaries()
    assert (run.name, run.directory, run.points, run.tags, run.kinds) == ("r", str(path.parent), 3, 1, ("scalar",))
    assert (run.started, run.ended, run.last_step, run.restarts, run.ranks) == (1.0, 105.0, 5, 1, (0,))
    assert run.live
    os.utime(path, (1e9, 1e9))
    assert not LocalCharts(pb.read(tmp_path)).run_summaries()[0].live


def test_a_run_without_data_has_no_last_step(tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "events.out.tfevents.1").write_bytes(b"")
    charts = LocalCharts(pb.read(tmp_path))
    [run] = charts.run_summaries()
    assert (run.last_step, run.points, run.tags, math.isnan(run.started)) == (None, 0, 0, True)
    assert (charts.last_step("r"), charts.last_step("unknown")) == (None, None)


def test_tags_list_the_runs_that_have_them(charts):
    assert [(tag.tag, tag.kinds, tag.runs) for tag in charts.tag_summaries()] == [
        ("accuracy", ("scalar",), ("b/c",)),
        ("train/loss", ("scalar",), ("a",)),
    ]
    assert [tag.tag for tag in charts.tag_summaries(runs=["a"])] == ["train/loss"]
    assert charts.tag_summaries(kind="image") == []
    with pytest.raises(RunNotFound):
        charts.tag_summaries(runs=["unknown"])


def test_modules_that_are_written_later_are_noticed_when_the_run_grows(tmp_path, charts):
    def has_modules():
        return {run.name: run.has_modules for run in charts.run_summaries()}

    assert has_modules() == {"a": False, "b/c": False}
    (tmp_path / "a" / "module_tree.json").write_text("{}")
    append(tmp_path / "a" / "events.out.tfevents.1", (8, 1.0), tag="train/loss")
    charts.poll()
    assert has_modules() == {"a": True, "b/c": False}


# ---- tables


def test_a_table_has_hparams_config_and_summaries_of_metrics(tmp_path, charts):
    config = {"model": {"depth": 3, "sizes": [1, 2]}, "name": "x", "bad": math.nan}
    (tmp_path / "a" / "run.json").write_text(json.dumps({"config": config}))
    table = charts.table(["a", "b/c"], ["train/loss", "accuracy", "none"])
    assert (table.hparams, table.config) == ((), ("model.depth", "model.sizes", "name", "bad"))
    first, second = table.rows
    assert first.config == {"model.depth": 3, "model.sizes": "[1, 2]", "name": "x", "bad": "nan"}
    loss = first.metrics["train/loss"]
    assert (loss.last, loss.last_step, loss.min, loss.min_step, loss.max, loss.max_step) == (3, 7, 0.5, 5, 3, 7)
    assert (loss.better, loss.best, loss.best_step) == ("min", 0.5, 5)
    assert (second.config, second.metrics["accuracy"].better) == ({}, "max")
    assert list(second.metrics) == ["accuracy"]


def test_the_caller_can_set_which_end_is_better(charts):
    [row] = charts.table(["a"], ["train/loss"], better={"train/loss": "max"}).rows
    assert (row.metrics["train/loss"].best, row.metrics["train/loss"].best_step) == (3, 7)
    with pytest.raises(BadQuery, match="min or max"):
        charts.table(["a"], ["train/loss"], better={"train/loss": "highest"})


@pytest.mark.parametrize(
    ("tag", "end"),
    [
        ("loss", "min"),
        ("val/accuracy", "max"),
        ("eval/f1", "max"),
        ("Accuracy/val", "max"),
        ("val_acc", "max"),
        ("perplexity", "min"),
        ("train/map", "max"),
        ("bitmap_size", "min"),
        ("score", "max"),
        ("underscore", "min"),
    ],
)
def test_the_better_end_is_guessed_from_the_tag(tag, end):
    assert better_end(tag) == end


def test_the_summary_of_a_metric_without_finite_values_is_nan(tmp_path):
    write_run(tmp_path / "r", (3, math.inf), (4, math.nan))
    [row] = LocalCharts(pb.read(tmp_path)).table(None, ["loss"]).rows
    metric = row.metrics["loss"]
    assert all(map(math.isnan, (metric.min, metric.max, metric.best, metric.last)))
    assert metric.last_step == 4


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"config": 3}', '{"config": ' + '{"a":' * 5000 + "1" + "}" * 5000 + "}"]
)
def test_an_invalid_run_json_counts_as_no_config(tmp_path, charts, text):
    (tmp_path / "a" / "run.json").write_text(text)
    [row] = charts.table(["a"]).rows
    assert row.config == {}


# ---- new data


def test_refresh_and_poll_return_what_changed(tmp_path, charts):
    assert not charts.poll()
    append(tmp_path / "a" / "events.out.tfevents.1", (8, 1.0), tag="train/loss")
    assert list(charts.poll().grown) == ["a"]
    assert charts.last_step("a") == 8
    write_run(tmp_path / "new", (1, 1.0))
    shutil.rmtree(tmp_path / "b")
    changes = charts.refresh()
    assert (tuple(changes.added), tuple(changes.removed)) == (("new",), ("b/c",))


def test_curves_of_removed_runs_are_dropped(tmp_path, charts):
    charts.window(Query(runs=["a", "b/c"], tags=["train/loss", "accuracy"]))
    kept = charts._kept
    assert {name for name, *_ in kept._curves} == {"a", "b/c"}
    shutil.rmtree(tmp_path / "b")
    charts.refresh()
    assert {name for name, *_ in kept._curves} == {"a"}
    assert kept._held_bytes == sum(kept._sizes.values())


def test_following_picks_up_new_points_and_reports_them(tmp_path, charts):
    stop, reported = threading.Event(), []
    thread = charts.follow(every_secs=0.05, stop=stop, on_change=reported.append)
    try:
        append(tmp_path / "a" / "events.out.tfevents.1", (9, 4.0), tag="train/loss")
        assert wait_until(lambda: reported and list(reported[0].grown) == ["a"])
        window = charts.window(Query(runs=["a"], tags=["train/loss"], start=9))[0]
        assert window.columns["y"].tolist() == [4]
    finally:
        stop.set()
        thread.join(20)
    assert not thread.is_alive()


def test_charts_can_be_queried_while_runs_grow(tmp_path):
    path = write_run(tmp_path / "r", *((i, 1.0) for i in range(100)))
    charts = LocalCharts(pb.read(tmp_path))
    failures = []
    end = threading.Event()

    def query():
        while not end.is_set():
            try:
                [window] = charts.window(Query(runs=["r"], tags=["loss"], buckets=50))
                assert int(window.columns["count"].sum()) == window.points >= 100
            except Exception as error:
                failures.append(error)
                return

    threads = [threading.Thread(target=query) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(40):
        append(path, *((100 + i * 50 + k, np.sin(k)) for k in range(50)))
        charts.poll()
    end.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert charts.window(Query(runs=["r"], tags=["loss"], buckets=50))[0].points == 2100
