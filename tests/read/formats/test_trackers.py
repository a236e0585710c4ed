"""Files of experiment trackers and reinforcement learning libraries, as they write them."""

import json
import math
import random
import shutil
import sqlite3
import struct
import zlib
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from other_formats import levels, only_run, points, runs_of_other_formats, written

import pulseboard as pb
from pulseboard.read.formats.trackers.aim_store import read_aim
from pulseboard.read.parsing.rocksdb import NotADatabase, uncompressed
from pulseboard.tbformat import wire

# ---- stable-baselines3


def test_monitor_steps_are_the_episodes_lengths_added_up(tmp_path):
    text = '#{"t_start": 1700000000.5, "env_id": "Pendulum-v1"}\nr,l,t\n-100.5,200,1.5\n-90.25,150,2.5\n'
    run = only_run(written(tmp_path / "0.monitor.csv", text))
    assert run.format == "sb3-monitor"
    assert points(run, "episode/reward") == [(200, -100.5), (350, -90.25)]
    assert points(run, "episode/length") == [(200, 200.0), (350, 150.0)]
    assert run.series("episode/reward").wall_times.tolist() == [1700000002.0, 1700000003.0]
    assert "lengths of the episodes" in run.axis.note


def test_evaluations_are_the_mean_of_their_episodes(tmp_path):
    path = tmp_path / "evaluations.npz"
    np.savez(path, timesteps=[100, 200], results=[[1.0, 3.0], [4.0, 6.0]], ep_lengths=[[10, 20], [30, 50]])
    run = only_run(path)
    assert points(run, "eval/mean_reward") == [(100, 2.0), (200, 5.0)]
    assert points(run, "eval/mean_ep_length") == [(100, 15.0), (200, 40.0)]
    assert list(runs_of_other_formats(tmp_path)) == ["evaluations.npz"]


@pytest.mark.parametrize("data", [b"PK\x03\x04timesteps.npy", b"PK\x03\x04timesteps.npy" + bytes(1000)])
def test_damaged_evaluations_are_noted(tmp_path, data):
    assert levels(only_run(written(tmp_path / "evaluations.npz", data))) == ["damage"]


def test_arrays_of_objects_are_refused(tmp_path):
    np.savez(tmp_path / "evaluations.npz", timesteps=np.array([1, {}], dtype=object), results=[[1.0], [2.0]])
    assert levels(only_run(tmp_path / "evaluations.npz")) == ["damage"]


def test_progress_csv_counts_timesteps(tmp_path):
    text = "time/iterations,rollout/ep_rew_mean,time/total_timesteps\n1,-20.5,2048\n2,-12.25,4096\n"
    run = only_run(written(tmp_path / "progress.csv", text))
    assert points(run, "rollout/ep_rew_mean") == [(2048, -20.5), (4096, -12.25)]


# ---- Spinning Up, Keras: tables in files of other names


def test_a_table_with_tabs_in_a_text_file_is_read(tmp_path):
    text = "Epoch\tAverageEpRet\tLossPi\tTotalEnvInteracts\n0\t-5.5\t0.5\t4000\n1\t-4.5\t0.25\t8000\n"
    written(tmp_path / "ppo_s0" / "progress.txt", text)
    run = runs_of_other_formats(tmp_path)["ppo_s0/progress.txt"]
    assert (run.format, points(run, "AverageEpRet")) == ("csv", [(4000, -5.5), (8000, -4.5)])
    assert points(run, "Epoch") == [(4000, 0.0), (8000, 1.0)]


def test_keras_csv_logger_writes_into_any_file(tmp_path):
    written(tmp_path / "training.log", "epoch,acc,loss\r\n0,0.5,2.5\r\n1,0.75,1.5\r\n")
    run = runs_of_other_formats(tmp_path)["training.log"]
    assert (run.axis.kind, points(run, "loss")) == ("epoch", [(0, 2.5), (1, 1.5)])


# ---- Sacred


def test_sacred_metrics_have_steps_and_times(tmp_path):
    metrics = {
        "loss": {"steps": [0, 10], "timestamps": ["2026-01-01T00:00:00", "2026-01-01T00:00:01"], "values": [2, 1.5]}
    }
    written(tmp_path / "1" / "metrics.json", json.dumps(metrics, indent=2))
    written(tmp_path / "1" / "config.json", json.dumps({"lr": 0.1}))
    run = runs_of_other_formats(tmp_path)["1"]
    assert (run.format, points(run, "loss")) == ("sacred", [(0, 2.0), (10, 1.5)])
    assert run.config() == {"lr": 0.1}
    assert run.started == 1767225600.0


# ---- SwanLab


def framed(*records, magic=b":SWL\xd6\xe1\x01"):
    out = bytearray(magic)
    for record in records:
        data = json.dumps(record).encode() + b"\n"
        out += struct.pack("<IHB", zlib.crc32(data, zlib.crc32(b"\x01")), len(data), 1) + data
    return bytes(out)


def scalar(key, step, value):
    metric = {"index": step, "data": value, "create_time": "2026-05-31T00:00:00+00:00"}
    return {"model_type": "Scalar", "data": {"metric": metric, "key": key, "step": step, "epoch": 1}}


def test_swanlab_scalars_are_read_and_the_machines_are_left_out(tmp_path):
    data = framed(
        scalar("train/loss", 5, 2.5), scalar("__swanlab__.gpu.0.mem", 0, 1), scalar("train/loss", 10, math.nan)
    )
    written(tmp_path / "run-1" / "backup.swanlab", data)
    run = runs_of_other_formats(tmp_path)["run-1"]
    assert (run.format, run.tags(), points(run, "train/loss")) == ("swanlab", ["train/loss"], [(5, 2.5), (10, "nan")])
    assert run.notes() == []


def test_a_damaged_swanlab_record_is_noted(tmp_path):
    data = bytearray(framed(scalar("loss", 1, 2.5), scalar("loss", 2, 1.5)))
    data[40] ^= 1
    run = only_run(written(tmp_path / "backup.swanlab", bytes(data)))
    assert (points(run, "loss"), levels(run)) == ([(2, 1.5)], ["damage"])


# ---- VisualDL


def vdl_record(tag, step, value, millisecs=1700000000500):
    message = wire.varint_field(1, value=step) + wire.text_field(2, value=tag)
    message += wire.varint_field(3, value=millisecs) + wire.float_field(4, value=value)
    record = wire.bytes_field(1, value=message)
    return struct.pack("<Q", len(record)) + record


def test_visualdl_records_are_read_up_to_a_torn_end(tmp_path):
    data = vdl_record("loss", 0, 2.5) + vdl_record("loss", 1, 1.5)
    written(tmp_path / "log" / "vdlrecords.1690034156.log", data + vdl_record("loss", 2, 1.0)[:-3])
    run = runs_of_other_formats(tmp_path)["log"]
    assert (run.format, points(run, "loss"), levels(run)) == ("visualdl", [(0, 2.5), (1, 1.5)], ["info"])
    assert run.series("loss").wall_times.tolist() == [1700000000.5, 1700000000.5]


# ---- trackio


def test_a_trackio_project_holds_its_runs(tmp_path):
    path = tmp_path / "project.db"
    with sqlite3.connect(path) as database:
        database.execute(
            "create table metrics (id integer primary key, timestamp text, run_name text, step integer, metrics text)"
        )
        database.execute("create table configs (id integer primary key, run_name text, config text, created_at text)")
        for step, loss in enumerate([2.5, 1.5]):
            row = ("2026-05-31T00:00:00+00:00", "brave-owl", step, json.dumps({"train": {"loss": loss}}))
            database.execute("insert into metrics (timestamp, run_name, step, metrics) values (?, ?, ?, ?)", row)
        database.execute(
            "insert into configs (run_name, config) values ('brave-owl', '{\"lr\": 0.1, \"_Created\": 1}')"
        )
    database.close()
    run = runs_of_other_formats(tmp_path)["project.db/brave-owl"]
    assert (run.format, points(run, "train/loss"), run.config()) == ("trackio", [(0, 2.5), (1, 1.5)], {"lr": 0.1})


# ---- W&B without its file, DVCLive, CatBoost, Aim


def test_a_wandb_summary_is_a_run_of_last_values(tmp_path):
    written(
        tmp_path / "run-1" / "files" / "wandb-summary.json", json.dumps({"_step": 9, "loss": 1.5, "_wandb": {"a": 1}})
    )
    run = runs_of_other_formats(tmp_path)["run-1"]
    assert (run.tags(), points(run, "loss"), levels(run)) == (["loss"], [(9, 1.5)], ["info"])


def test_dvclive_is_one_run_however_many_metrics_it_has(tmp_path):
    written(tmp_path / "dvclive" / "plots" / "metrics" / "train" / "loss.tsv", "step\tloss\n0\t2.5\n1\t1.5\n")
    written(tmp_path / "dvclive" / "plots" / "metrics" / "lr.tsv", "step\tlr\n0\t0.1\n")
    runs = runs_of_other_formats(tmp_path)
    assert list(runs) == ["dvclive"]
    assert points(runs["dvclive"], "train/loss") == [(0, 2.5), (1, 1.5)]
    assert points(runs["dvclive"], "lr") == [(0, 0.1)]


def test_a_catboost_folder_is_one_run(tmp_path):
    written(tmp_path / "catboost_info" / "learn_error.tsv", "iter\tLogloss\n0\t0.6\n1\t0.5\n")
    written(tmp_path / "catboost_info" / "test_error.tsv", "iter\tLogloss\n0\t0.7\n1\t0.6\n")
    written(tmp_path / "catboost_info" / "time_left.tsv", "iter\tPassed\tRemaining\n0\t1\t2\n")
    run = only_run(tmp_path)
    assert (points(run, "learn/Logloss"), points(run, "test/Logloss")) == ([(0, 0.6), (1, 0.5)], [(0, 0.7), (1, 0.6)])


def test_an_aim_repository_that_is_damaged_is_noted_and_not_touched(tmp_path):
    sample = Path(__file__).parent / "samples" / "aim" / ".aim"
    shutil.copytree(sample, tmp_path / ".aim")
    before = {path: path.read_bytes() for path in (tmp_path / ".aim").rglob("*") if path.is_file()}
    assert len(pb.read(tmp_path)) == 2
    assert {path: path.read_bytes() for path in (tmp_path / ".aim").rglob("*") if path.is_file()} == before
    (table,) = (tmp_path / ".aim" / "seqs").rglob("*.sst")
    table.write_bytes(table.read_bytes()[:-60])
    runs = pb.read(tmp_path)
    assert len(runs) == 1  # the other one is in a log
    assert ["cannot be read: a table has no footer" in note.what for note in runs.notes()] == [True]


@pytest.mark.parametrize("seed", range(4))
def test_any_bytes_in_an_aim_repository_are_survived(tmp_path, seed):
    shutil.copytree(Path(__file__).parent / "samples" / "aim" / ".aim", tmp_path / ".aim")
    files = {path: path.read_bytes() for path in (tmp_path / ".aim").rglob("*.*") if path.stat().st_size}
    chance = random.Random(seed)
    for _ in range(40):
        for path, data in files.items():
            changed = bytearray(data)
            for _ in range(chance.randrange(6)):
                changed[chance.randrange(len(changed))] = chance.randrange(256)
            path.write_bytes(changed[: chance.randrange(len(changed) + 1)] if chance.random() < 0.2 else changed)
        for run in read_aim(str(tmp_path / ".aim")):
            assert all(len(series.steps) == len(series.values) for series in run.series.values())


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x05\x10hello", b"hello"),
        (b"\x0a\x00a\x15\x01", b"a" * 10),  # a copy that overlaps what it makes: nine bytes, one back
        (b"\x08\x0cabcd\x01\x04", b"abcdabcd"),
        (b"\x46\xf0\x3d" + b"x" * 62 + b"\x1e\x3e\x00", b"x" * 70),  # a length in a byte of its own; two bytes back
    ],
)
def test_snappy_blocks_are_uncompressed(data, expected):
    assert uncompressed(data) == expected


@pytest.mark.parametrize("data", [b"\x05\x10hell", b"\x05\x01\x04", b"\xff\xff\xff\xff\x0f\x00a", b"\x01\x10hello"])
def test_damaged_snappy_blocks_are_refused(data):
    with pytest.raises(NotADatabase):
        uncompressed(data)


def neptune_table(rows):
    """A table of neptune-exporter's schema, with the columns that are read. Steps are decimals of six digits."""
    pa = pytest.importorskip("pyarrow")
    schema = pa.schema(
        [
            ("project_id", pa.string()),
            ("run_id", pa.string()),
            ("attribute_path", pa.string()),
            ("attribute_type", pa.string()),
            ("step", pa.decimal128(18, 6)),
            ("timestamp", pa.timestamp("ms", tz="UTC")),
            ("int_value", pa.int64()),
            ("float_value", pa.float64()),
            ("string_value", pa.string()),
        ]
    )
    return pa.Table.from_pylist([{"project_id": "org/project", **row} for row in rows], schema=schema)


def neptune_point(run, step, value):
    at = datetime.fromtimestamp(1700000000 + step, timezone.utc)
    return {
        "run_id": run, "attribute_path": "train/loss", "attribute_type": "float_series", "step": Decimal(step),
        "timestamp": at, "float_value": value,
    }  # fmt: skip


def test_a_neptune_export_is_read_with_pyarrow(tmp_path):
    table = neptune_table([neptune_point("A-1", 0, 2.5), neptune_point("A-1", 1, 1.5), neptune_point("A-2", 0, 3.5)])
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "export.parquet")
    runs = runs_of_other_formats(tmp_path)
    assert list(runs) == ["export.parquet/A-1", "export.parquet/A-2"]
    assert points(runs["export.parquet/A-1"], "train/loss") == [(0, 2.5), (1, 1.5)]
    assert runs["export.parquet/A-1"].series("train/loss").wall_times.tolist() == [1700000000.0, 1700000001.0]


def test_the_parts_of_a_neptune_run_are_one_run_with_its_configuration(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    directory = tmp_path / "org_project" / "A-1"
    directory.mkdir(parents=True)
    lr = {"run_id": "A-1", "attribute_path": "parameters/lr", "attribute_type": "float", "float_value": 0.1}
    name = {"run_id": "A-1", "attribute_path": "sys/name", "attribute_type": "string", "string_value": "owl"}
    for part, rows in enumerate([[lr, name, neptune_point("A-1", 0, 2.5)], [neptune_point("A-1", 1, 1.5)]]):
        parquet.write_table(neptune_table(rows), directory / f"part_{part}.parquet")
    run = only_run(tmp_path)
    assert (run.name, points(run, "train/loss")) == ("org_project/A-1", [(0, 2.5), (1, 1.5)])
    assert run.config() == {"parameters/lr": 0.1, "sys/name": "owl"}
    (directory / "part_1.parquet").write_bytes((directory / "part_1.parquet").read_bytes()[:-20])
    run = only_run(tmp_path)
    assert (points(run, "train/loss"), levels(run)) == ([(0, 2.5)], ["damage"])


def test_the_parts_of_neptune_runs_in_one_directory_belong_to_their_runs(tmp_path):
    """As neptune-exporter's ParquetWriter names them; it is not on PyPI, so its source was followed."""
    parquet = pytest.importorskip("pyarrow.parquet")
    directory = tmp_path / "org_project"
    directory.mkdir()
    for run, first in (("A-1_5f3", 2.5), ("A-12_9c1", 7.5)):
        for part in range(11):  # the tenth comes after the ninth
            table = neptune_table([neptune_point(run, part, first - part / 8)])
            parquet.write_table(table, directory / f"{run}_part_{part}.parquet", compression="snappy")
    runs = runs_of_other_formats(tmp_path)
    assert sorted(runs) == ["org_project/A-12_9c1_part_0.parquet", "org_project/A-1_5f3_part_0.parquet"]
    assert points(runs["org_project/A-1_5f3_part_0.parquet"], "train/loss") == [(i, 2.5 - i / 8) for i in range(11)]
