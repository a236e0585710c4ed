"""Settings in the disk index: a process that starts on known runs opens none of their files for a table."""

import json
import os
import shutil

import pytest

import pulseboard as pb
from pulseboard.charts.index import Index
from pulseboard.charts.local import LocalCharts
from pulseboard.read.discovery.log_directory import log_directories_from
from pulseboard.read.runs import Runs

RUNS = 70


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A run as it is recorded, with a config and hyperparameters."""
    top = tmp_path_factory.mktemp("recorded")
    with pb.init(dir=top, run_id="r", config={"model": {"depth": 2}, "limit": float("inf")}, telemetry_secs=0) as run:
        run.hparams({"lr": 0.1, "name": "gpt"})
        run.log({"loss": 0.5}, step=1)
    return top / "r"


@pytest.fixture
def logs(tmp_path, recorded):
    """Copies of it."""
    for i in range(RUNS):
        shutil.copytree(recorded, tmp_path / "logs" / f"run{i:02}")
    return tmp_path / "logs"


def start(logs):
    index = Index()
    charts = LocalCharts(Runs(log_directories_from([str(logs)]), cache=index), index=index)
    charts.refresh()
    return charts, index


def table(charts):
    return [str(row) for row in charts.table(metrics=["loss"]).rows]


def reads(charts):
    return charts._run_files.reads, charts._settings.reads


def first_table(logs):
    """The table of a process that reads everything, and then ends."""
    charts, index = start(logs)
    found = table(charts)
    assert reads(charts) == (RUNS, RUNS)
    index.close()
    return found


def kept_file(cache):
    [path] = (cache / "index-1" / "settings").iterdir()
    return path


def test_a_restart_reads_no_settings_again(logs):
    before = first_table(logs)
    charts, index = start(logs)
    assert table(charts) == before
    charts.run_summaries()
    assert reads(charts) == (0, 0)
    index.close()


def test_what_has_changed_is_read_again(logs, cache):
    first_table(logs)
    path = logs / "run03" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"config": {"model": {"depth": 3}}}))
    with pb.init(dir=logs, resume="run04", telemetry_secs=0) as run:
        run.hparams({"lr": 0.2})
    shutil.rmtree(logs / "run05")
    charts, index = start(logs)
    rows = {row.run: row for row in charts.table().rows}
    assert rows["run03"].config == {"model.depth": 3}
    assert rows["run04"].hparams == {"lr": 0.2, "name": "gpt"}
    assert rows["run06"].config == {"model.depth": 2, "limit": "inf"}
    assert reads(charts) == (2, 1)
    index.close()
    kept = json.loads(kept_file(cache).read_bytes().partition(b"\n")[2])
    assert len(kept["records"]) == len(kept["hparams"]) == RUNS - 1
    charts, _ = start(logs)
    assert [str(row) for row in charts.table().rows] == [str(row) for row in rows.values()]
    assert reads(charts) == (0, 0)


def test_a_process_that_only_lists_runs_keeps_the_hyperparameters_of_the_last_one(logs, cache):
    first_table(logs)
    shutil.copytree(logs / "run00", logs / "new")
    charts, index = start(logs)
    charts.run_summaries()
    assert reads(charts) == (1, 0)
    index.close()
    charts, _ = start(logs)
    charts.table()
    assert reads(charts) == (0, 1)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data[:-1] + b"x",
        lambda data: b"zz" + data,
        lambda data: data.replace(b'"records"', b'"recorde"'),
    ],
)
def test_damage_costs_only_time(logs, cache, damage):
    before = first_table(logs)
    path = kept_file(cache)
    path.write_bytes(damage(path.read_bytes()))
    assert first_table(logs) == before  # reads everything, and writes it again
    charts, _ = start(logs)
    assert table(charts) == before
    assert reads(charts) == (0, 0)


def test_few_runs_are_not_kept(logs, cache):
    for i in range(10, RUNS):
        shutil.rmtree(logs / f"run{i:02}")
    charts, index = start(logs)
    charts.table()
    index.close()
    assert not (cache / "index-1" / "settings").exists()


def test_settings_of_a_run_that_was_replaced_are_not_used(logs):
    first_table(logs)
    directory = logs / "run07"
    content = (directory / "run.json").read_text().replace('"depth": 2', '"depth": 7')
    times = os.stat(directory / "run.json")
    (directory / "run.json").unlink()
    (directory / "other").write_text("takes the inode that became free")
    (directory / "run.json").write_text(content)
    os.utime(directory / "run.json", ns=(times.st_atime_ns, times.st_mtime_ns))
    charts, _ = start(logs)
    assert {row.run: row.config["model.depth"] for row in charts.table().rows}["run07"] == 7
