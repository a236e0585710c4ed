"""Every reader on mutations of real logs: never an exception, never a hang, and series that are sound."""

import contextlib
import json
import sqlite3
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from other_formats import check_soundness, read_directly

from pulseboard.read.formats.mlflow_files import read_metrics_directory
from pulseboard.tbformat import wire

SAMPLES = Path(__file__).parent / "samples"
FILES = sorted(
    path
    for path in SAMPLES.rglob("*")
    if path.is_file() and path.name not in ("expected.json", "config.yaml") and path.parent.name != "metrics"
)

INSERTIONS = [
    b"\0", b"\xff\xfe", b"\x1b[31m", b"\r", b"\n", b"\r\n", b'"', b"'", b",", b";", b"\t", b"|", b"{", b"}", b"[", b"]",
    b":", b"nan", b"-inf", b"1e999", b"9" * 400, b"-", b"\xe6\xbc", b"\xf0\x9f\x98\x80", b"[" * 2000, b'{"a":' * 500,
    b"x" * 5000, b"step,loss\n1,2\n", b"epoch 1 step 1 loss 1\n", b"\\ud800", b"1" * 19 + b" ", b"2026-99-99 99:99:99 ",
]  # fmt: skip


@st.composite
def mutations(draw, size):
    """What to do to the bytes of a file, in order."""
    places = st.integers(0, size)
    one = st.one_of(
        st.tuples(st.just("cut"), places, st.just(0), st.just(b"")),
        st.tuples(st.just("delete"), places, st.integers(1, 200), st.just(b"")),
        st.tuples(st.just("repeat"), places, st.integers(1, 2000), st.just(b"")),
        st.tuples(st.just("flip"), places, st.integers(0, 7), st.just(b"")),
        st.tuples(st.just("insert"), places, st.just(0), st.sampled_from(INSERTIONS)),
        st.tuples(st.just("insert"), places, st.just(0), st.binary(max_size=40)),
    )
    return draw(st.lists(one, min_size=1, max_size=6))


def mutated(data, changes):
    for what, place, amount, extra in changes:
        if what == "cut":
            data = data[:place]
        elif what == "delete":
            data = data[:place] + data[place + amount :]
        elif what == "repeat":
            data = data[:place] + data[place : place + amount] * 3 + data[place + amount :]
        elif what == "flip" and place < len(data):
            data = data[:place] + bytes([data[place] ^ (1 << amount)]) + data[place + 1 :]
        elif what == "insert":
            data = data[:place] + extra + data[place:]
    return data


# Hypothesis does not see the tests in here, so it does not mark them: see test-long in the Makefile.
pytestmark = pytest.mark.hypothesis
EXAMPLES = settings().max_examples


def examples(original, copy, *, count=EXAMPLES // 4):
    """Write mutations of a file and read each."""

    @settings(
        max_examples=count, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(mutations(len(original)))
    def mutate(changes):
        copy.write_bytes(mutated(original, changes))
        check_soundness(copy)

    mutate()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SAMPLES)))
def test_a_damaged_log_is_read_as_far_as_it_goes(path, tmp_path):
    examples(path.read_bytes(), tmp_path / path.name)


# ---- formats without a sample


def mlflow_database(path):
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript(
            "create table experiments (experiment_id integer, name text);"
            "create table runs (run_uuid text, name text, experiment_id integer, lifecycle_stage text, start_time int);"
            "create table metrics (key text, value real, timestamp real, step integer, is_nan integer, run_uuid text);"
            "create table params (key text, value text, run_uuid text);"
            "insert into experiments values (0, 'Default'); insert into runs values ('a', 'owl', 0, 'active', 1);"
            "insert into params values ('lr', '0.1', 'a');"
        )
        rows = [("loss", 2.5 - i, 1_700_000_000_000 + i, i, 0, "a") for i in range(20)]
        database.executemany("insert into metrics values (?, ?, ?, ?, ?, ?)", rows)
        database.commit()


def visualdl_records(path):
    out = b""
    for step in range(10):
        message = wire.varint_field(1, value=step) + wire.text_field(2, value="loss")
        message += wire.varint_field(3, value=1_700_000_000_500) + wire.float_field(4, value=2.5)
        record = wire.bytes_field(1, value=message)
        out += struct.pack("<Q", len(record)) + record
    path.write_bytes(out)


def neptune_table(path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"run_id": ["A"] * 9, "attribute_path": ["loss"] * 9, "step": range(9), "float_value": [2.5] * 9}
    parquet.write_table(pyarrow.table(columns), path)


def json_log(path):
    records = [{"step": i, "time": 1_700_000_000.5 + i, "train/loss": 2.5 - i / 8} for i in range(10)]
    path.write_text("[\n" + ",\n".join(map(json.dumps, records)) + "\n]\n")


def long_csv(path):
    rows = [f"{run},loss,{i},{1_700_000_000 + i},{2.5 - i / 8}" for run in "ab" for i in range(5)]
    path.write_text("\n".join(["run,tag,step,wall_time,value", *rows, ""]))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("mlflow.db", mlflow_database),
        ("vdlrecords.1.log", visualdl_records),
        ("export.parquet", neptune_table),
        ("training.json", json_log),
        ("export.csv", long_csv),
    ],
)
def test_formats_without_a_sample_are_read_as_far_as_they_go(name, write, tmp_path):
    path = tmp_path / name
    write(path)
    assert sum(len(series) for run in read_directly(path) for series in run.series.values()) >= 9
    examples(path.read_bytes(), tmp_path / f"copy-{name}" if "vdl" not in name else path, count=EXAMPLES // 2)


def test_metrics_of_mlflow_in_files_are_read_as_far_as_they_go(tmp_path):
    path = tmp_path / "mlruns" / "0" / "a" / "metrics" / "loss"
    path.parent.mkdir(parents=True)
    original = b"".join(b"%d %f %d\n" % (1_700_000_000_000 + i, 2.5 - i / 8, i) for i in range(10))

    @settings(
        max_examples=EXAMPLES // 2,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(mutations(len(original)))
    def mutate(changes):
        path.write_bytes(mutated(original, changes))
        for run in read_metrics_directory(str(path.parent)):
            assert all(len(series.steps) == len(series.values) for series in run.series.values())

    mutate()
