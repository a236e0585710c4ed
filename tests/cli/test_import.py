"""`pulseboard import`: every format becomes event files that every other command reads."""

import json
import math
import os
import sqlite3

import pytest
from corpus import CORPUS, need_corpus
from log_directories import write_run
from other_formats import points, written
from reference import accumulate, scalars_by_tensorboard

import pulseboard as pb
from pulseboard.read import any_runs

CSV = "step,loss,acc\n0,2.5,0.1\n10,nan,0.2\n"


@pytest.fixture
def logs(tmp_path):
    """A directory with a run of event files and two of other formats."""
    written(tmp_path / "logs" / "a" / "metrics.csv", CSV)
    written(tmp_path / "logs" / "a" / "hparams.yaml", "lr: 0.1\n")
    written(tmp_path / "logs" / "b" / "train.log", "step 1: loss 2.0\nstep 2: loss 1.0\n")
    write_run(tmp_path / "logs" / "events", (0, 7.0))
    return tmp_path / "logs"


def test_every_run_of_another_format_gets_an_event_file(pulseboard, logs, tmp_path):
    ran = pulseboard("import", logs, tmp_path / "runs")
    assert (ran.code, ran.err) == (0, "")
    assert f"Wrote 2 runs, 6 points, to {tmp_path / 'runs'}" in ran.out
    assert "Skipped 1 run of event files" in ran.out
    log = pb.read(tmp_path / "runs")
    assert set(log) == {"a", "b/train.log"}
    assert points(log["a"], "loss") == [(0, 2.5), (10, "nan")]
    assert points(log["a"], "acc") == [(0, 0.1), (10, 0.2)]
    assert log["a"].hparams().values == {"lr": 0.1}
    assert set(scalars_by_tensorboard(accumulate(tmp_path / "runs" / "a"))) == {"loss", "acc"}


def test_one_file_and_one_of_its_tags(pulseboard, logs, tmp_path):
    assert pulseboard("import", logs / "a" / "metrics.csv", tmp_path / "runs", "-t", "loss").code == 0
    log = pb.read(tmp_path / "runs")
    assert list(log) == ["metrics.csv"]
    assert log["metrics.csv"].tags("scalar") == ["loss"]


def test_json_lists_what_was_written_from_which_source(pulseboard, logs, tmp_path):
    ran = pulseboard("import", logs, tmp_path / "runs", "-r", "^a$", "--json")
    document = json.loads(ran.out)
    (row,) = document["imported"]
    assert (row["run"], row["format"], row["tags"], row["points"]) == ("a", "lightning-csv", 2, 4)
    assert row["source"] == str(logs / "a" / "metrics.csv")
    assert os.path.isfile(row["output"])
    assert document["already_event_files"] == 0


def test_a_target_with_event_files_is_rejected_before_anything_is_written(pulseboard, logs, tmp_path):
    assert pulseboard("import", logs, tmp_path / "runs", "-r", "^b").code == 0
    ran = pulseboard("import", logs, tmp_path / "runs")
    assert (ran.code, ran.out) == (2, "")
    assert "The target already contains event files" in ran.err
    assert ran.err.rstrip().endswith(str(tmp_path / "runs" / "b" / "train.log"))
    assert not (tmp_path / "runs" / "a").exists()


def test_having_nothing_to_import_is_reported(pulseboard, tmp_path):
    write_run(tmp_path / "events", (0, 7.0))
    ran = pulseboard("import", tmp_path / "events", tmp_path / "runs")
    assert (ran.code, ran.err) == (0, "")
    assert "Nothing to import" in ran.out
    assert not (tmp_path / "runs").exists()


def test_a_file_of_no_known_format_is_an_error(pulseboard, tmp_path):
    path = written(tmp_path / "x.bin", os.urandom(5000))
    ran = pulseboard("import", path, tmp_path / "runs")
    assert (ran.code, ran.out) == (2, "")
    assert "not an event file, nor in any other supported format" in ran.err


def test_damage_is_reported_and_the_rest_imported(pulseboard, tmp_path):
    path = written(tmp_path / "log.csv", "step,loss\n0,1\n1,abc\n2,3\n")
    ran = pulseboard("import", path, tmp_path / "runs")
    assert ran.code == 0
    assert "non-numeric" in ran.err
    assert points(pb.read(tmp_path / "runs")["log.csv"], "loss") == [(0, 1.0), (2, 3.0)]


def test_no_run_name_leads_out_of_the_destination(pulseboard, tmp_path):
    path = tmp_path / "mlflow.db"
    with sqlite3.connect(path) as database:
        database.executescript(
            """
            create table experiments (experiment_id int, name text);
            create table runs (run_uuid text, name text, experiment_id int, lifecycle_stage text, start_time int);
            create table metrics (key text, value real, timestamp int, run_uuid text, step int, is_nan int);
            create table params (key text, value text, run_uuid text);
            insert into experiments values (1, '../../../up'), (2, '/abs');
            insert into runs values ('r1', '..', 1, 'active', 0), ('r2', 'x', 2, 'active', 0);
            insert into runs values ('r3', 'gone', 2, 'deleted', 0);
            insert into metrics values ('loss', 1.5, 1700000000000, 'r1', 3, 0), ('loss', 0, 1700000000000, 'r2', 3, 1);
            """
        )
    database.close()
    ran = pulseboard("import", path, tmp_path / "deep" / "runs", "--json")
    assert ran.code == 0
    outputs = [row["output"] for row in json.loads(ran.out)["imported"]]
    assert len(outputs) == 2
    for output in outputs:
        assert os.path.realpath(output).startswith(str(tmp_path / "deep" / "runs") + os.sep)
    assert sorted(os.listdir(tmp_path)) == ["deep", "mlflow.db"]


def test_what_was_exported_is_imported_unchanged(pulseboard, logs, tmp_path):
    pulseboard("import", logs, tmp_path / "runs")
    first = tmp_path / "first.csv"
    assert pulseboard("export", tmp_path / "runs", "-o", first).code == 0
    assert pulseboard("import", first, tmp_path / "again").code == 0
    assert pulseboard("export", tmp_path / "again" / "first.csv", "-o", tmp_path / "second.csv").code == 0
    assert sorted(first.read_text().splitlines()) == sorted((tmp_path / "second.csv").read_text().splitlines())


def test_real_logs_come_through_with_every_point(pulseboard, tmp_path):
    source = need_corpus() / "pytorch+torchtitan"
    assert pulseboard("import", source, tmp_path / "runs").code == 0
    imported = pb.read(tmp_path / "runs")
    runs = any_runs(source).of_other_formats()
    assert len(runs) == len(imported) == 6
    for run in runs:
        for tag in run.tags():
            assert points(imported[run.name], tag) == points(run, tag)
    assert not math.isnan(imported[run.name].started)
    assert CORPUS in source.parents
