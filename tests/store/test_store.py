"""The store as a whole: runs, tags, tables, and what has changed since."""

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
from pulseboard.core.errors import RunNotFound
from pulseboard.store.query import BadQuery, Query
from pulseboard.store.store import Store
from pulseboard.store.tables import better_of


@pytest.fixture
def store(tmp_path):
    write_run(tmp_path / "a", (1, 1.0), (2, math.nan), (5, 0.5), (7, 3.0), tag="train/loss")
    write_run(tmp_path / "b" / "c", (1, 2.0), tag="accuracy")
    return Store(pb.read(tmp_path))


def waited_for(condition):
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


# ---- what is there


def test_runs_in_one_line(tmp_path):
    path = tmp_path / "r" / "events.out.tfevents.1"
    path.parent.mkdir()
    path.write_bytes(
        event_file(version(), *scalars("loss", (1, 1.0), (9, 1.0)), session_start(5), *scalars("loss", (5, 2.0)))
    )
    [run] = Store(pb.read(tmp_path)).runs()
    assert (run.name, run.directory, run.points, run.tags, run.kinds) == ("r", str(path.parent), 3, 1, ("scalar",))
    assert (run.started, run.ended, run.last_step, run.restarts, run.ranks) == (1.0, 105.0, 5, 1, (0,))
    assert run.live
    os.utime(path, (1e9, 1e9))
    assert not Store(pb.read(tmp_path)).runs()[0].live


def test_a_run_without_data_has_no_last_step(tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "events.out.tfevents.1").write_bytes(b"")
    [run] = Store(pb.read(tmp_path)).runs()
    assert (run.last_step, run.points, run.tags, math.isnan(run.started)) == (None, 0, 0, True)


def test_runs_are_found_by_an_expression_anywhere_in_their_names(store):
    assert [run.name for run in store.runs("b/")] == ["b/c"]
    assert {run.name for run in store.runs("")} == {"a", "b/c"}
    assert store.runs("^c") == []
    with pytest.raises(BadQuery, match="no regular expression"):
        store.runs("(")


def test_tags_say_which_runs_have_them(store):
    assert [(tag.tag, tag.kinds, tag.runs) for tag in store.tags()] == [
        ("accuracy", ("scalar",), ("b/c",)),
        ("train/loss", ("scalar",), ("a",)),
    ]
    assert [tag.tag for tag in store.tags(runs=["a"])] == ["train/loss"]
    assert store.tags(kind="image") == []
    with pytest.raises(RunNotFound):
        store.tags(runs=["nobody"])


# ---- tables


def test_a_table_has_hparams_configuration_and_what_metrics_came_to(tmp_path, store):
    config = {"model": {"depth": 3, "sizes": [1, 2]}, "name": "x", "bad": math.nan}
    (tmp_path / "a" / "run.json").write_text(json.dumps({"config": config}))
    table = store.table(["a", "b/c"], ["train/loss", "accuracy", "none"])
    assert (table.hparams, table.config) == ((), ("model.depth", "model.sizes", "name", "bad"))
    first, second = table.rows
    assert first.config == {"model.depth": 3, "model.sizes": "[1, 2]", "name": "x", "bad": "nan"}
    loss = first.metrics["train/loss"]
    assert (loss.last, loss.last_step, loss.min, loss.min_step, loss.max, loss.max_step) == (3, 7, 0.5, 5, 3, 7)
    assert (loss.better, loss.best, loss.best_step) == ("min", 0.5, 5)
    assert (second.config, second.metrics["accuracy"].better) == ({}, "max")
    assert list(second.metrics) == ["accuracy"]


def test_which_end_is_better_may_be_told(store):
    [row] = store.table(["a"], ["train/loss"], better={"train/loss": "max"}).rows
    assert (row.metrics["train/loss"].best, row.metrics["train/loss"].best_step) == (3, 7)
    with pytest.raises(BadQuery, match="min or max"):
        store.table(["a"], ["train/loss"], better={"train/loss": "highest"})


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
def test_the_better_end_is_told_by_the_name(tag, end):
    assert better_of(tag) == end


def test_a_metric_without_a_finite_value_is_nan(tmp_path):
    write_run(tmp_path / "r", (3, math.inf), (4, math.nan))
    [row] = Store(pb.read(tmp_path)).table(None, ["loss"]).rows
    metric = row.metrics["loss"]
    assert all(map(math.isnan, (metric.min, metric.max, metric.best, metric.last)))
    assert metric.last_step == 4


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"config": 3}', '{"config": ' + '{"a":' * 5000 + "1" + "}" * 5000 + "}"]
)
def test_a_run_file_that_is_no_good_is_no_configuration(tmp_path, store, text):
    (tmp_path / "a" / "run.json").write_text(text)
    [row] = store.table(["a"]).rows
    assert row.config == {}


# ---- changes


def test_every_change_has_a_revision_and_is_told_to_whoever_missed_it(tmp_path, store):
    first = store.revision
    assert not store.poll()
    assert store.revision == first
    append(tmp_path / "a" / "events.out.tfevents.1", (8, 1.0), tag="train/loss")
    told = store.poll()
    assert (told.revision, told.grown) == (first + 1, {"a": 8})
    write_run(tmp_path / "new", (1, 1.0))
    shutil.rmtree(tmp_path / "b")
    store.refresh()
    missed = store.changes(since=first)
    assert (missed.added, missed.removed, missed.grown, missed.complete) == (("new",), ("b/c",), {"a": 8}, False)
    assert store.changes(since=first + 1).grown == {}
    assert not store.changes(since=store.revision)


def test_a_run_that_came_and_went_is_told_as_it_is_now(tmp_path, store):
    first = store.revision
    for _ in range(2):
        write_run(tmp_path / "x", (1, 1.0))
        store.refresh()
        shutil.rmtree(tmp_path / "x")
        store.refresh()
    assert (store.changes(since=first).added, store.changes(since=first).removed) == ((), ("x",))
    write_run(tmp_path / "x", (1, 1.0))
    store.refresh()
    assert (store.changes(since=first).added, store.changes(since=first).removed) == (("x",), ())


def test_a_revision_of_another_store_gets_everything(store):
    for since in (0, -1, store.revision + 1, store.revision - 10**6):
        changes = store.changes(since=since)
        assert (changes.complete, set(changes.added)) == (True, {"a", "b/c"})


def test_each_run_has_the_revision_that_changed_it(tmp_path, store):
    before = {run.name: run.revision for run in store.runs()}
    append(tmp_path / "a" / "events.out.tfevents.1", (8, 1.0), tag="train/loss")
    store.poll()
    after = {run.name: run.revision for run in store.runs()}
    assert after == {"a": store.revision, "b/c": before["b/c"]}
    assert store.run_revision("a") == store.revision


def test_following_takes_up_what_comes_and_wakes_those_who_wait(tmp_path, store):
    stop, told = threading.Event(), []
    thread = store.follow(every_secs=0.05, stop=stop, on_change=told.append)
    since = store.revision
    woken = []
    waiter = threading.Thread(target=lambda: woken.append(store.wait(since=since, timeout_secs=20)))
    waiter.start()
    try:
        append(tmp_path / "a" / "events.out.tfevents.1", (9, 4.0), tag="train/loss")
        waiter.join(20)
        assert woken[0].grown == {"a": 9}
        assert waited_for(lambda: told and told[0].grown == {"a": 9})
        window = store.window(Query(runs=["a"], tags=["train/loss"], start=9))[0]
        assert window.columns["y"].tolist() == [4]
    finally:
        stop.set()
        thread.join(20)
    assert not thread.is_alive()


def test_waiting_ends_when_its_time_is_over(store):
    assert not store.wait(since=store.revision, timeout_secs=0.01)


def test_charts_may_be_asked_for_while_runs_grow(tmp_path):
    path = write_run(tmp_path / "r", *((i, 1.0) for i in range(100)))
    store = Store(pb.read(tmp_path))
    failures = []
    end = threading.Event()

    def ask():
        while not end.is_set():
            try:
                [window] = store.window(Query(runs=["r"], tags=["loss"], buckets=50))
                assert int(window.columns["count"].sum()) == window.points >= 100
            except Exception as error:
                failures.append(error)
                return

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(40):
        append(path, *((100 + i * 50 + k, np.sin(k)) for k in range(50)))
        store.poll()
    end.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert store.window(Query(runs=["r"], tags=["loss"], buckets=50))[0].points == 2100
