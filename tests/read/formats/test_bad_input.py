"""Input that is broken in the ways real files are: a clear note, everything else read, and bounded memory and time."""

import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from other_formats import check_soundness, levels, only_run, points, runs_of_other_formats, written

import pulseboard as pb
from pulseboard.kernel import lines as kernel
from pulseboard.read.parsing import record_log
from pulseboard.read.parsing.yaml_file import yaml_mapping
from pulseboard.tbformat import wire

SAMPLES = Path(__file__).parent / "samples"


# ---- text


def test_a_header_that_changes_renames_the_columns_below_it(tmp_path):
    text = "step,loss,lr\n0,2.5,0.1\n1,2.0,0.1\nstep,lr,val_loss,loss\n2,0.05,3.5,1.5\n3,0.05,3.25,1.25\n"
    run = only_run(written(tmp_path / "log.csv", text))
    assert points(run, "loss") == [(0, 2.5), (1, 2.0), (2, 1.5), (3, 1.25)]
    assert points(run, "lr") == [(0, 0.1), (1, 0.1), (2, 0.05), (3, 0.05)]
    assert points(run, "val_loss") == [(2, 3.5), (3, 3.25)]
    assert ["header changes in line 4" in note.what for note in run.notes()] == [True]


def test_a_header_of_the_same_width_is_noticed_and_a_row_of_words_is_not_a_header(tmp_path):
    run = only_run(written(tmp_path / "a.csv", "step,loss\n0,2.5\n1,2.0\nstep,accuracy\n2,0.5\n"))
    assert (points(run, "loss"), points(run, "accuracy")) == ([(0, 2.5), (1, 2.0)], [(2, 0.5)])
    run = only_run(written(tmp_path / "b.csv", "step,loss\n0,2.5\nfoo,bar\n1,2.0\n"))
    assert points(run, "loss") == [(0, 2.5), (1, 2.0)]


@pytest.mark.parametrize("name", ["log.csv", "train.log", "log.jsonl"])
def test_bytes_of_another_encoding_do_not_spoil_the_rest(tmp_path, name):
    lines = {
        "log.csv": ["step,loss,note"] + [f"{i},{i}.5,caf\u00e9" for i in range(5)],
        "train.log": [f"step {i} loss {i}.5 caf\u00e9" for i in range(5)],
        "log.jsonl": [f'{{"step": {i}, "note": "caf\u00e9", "loss": {i}.5}}' for i in range(5)],
    }[name]
    data = b"".join(line.encode("latin-1" if i % 2 else "utf-8") + b"\n" for i, line in enumerate(lines))
    run = only_run(written(tmp_path / name, data))
    assert points(run, "loss") == [(i, i + 0.5) for i in range(5)]


@pytest.mark.parametrize("break_", ["\r", "\r\n", "\n\r\n"])
@pytest.mark.parametrize("name", ["log.csv", "train.log", "log.jsonl"])
def test_carriage_returns_and_colors_are_read_over(tmp_path, name, break_):
    lines = {
        "log.csv": ["step,loss"] + [f"{i},{i}.5" for i in range(5)],
        "train.log": [f"\x1b[32mstep {i}\x1b[0m \x1b[1;31mloss: {i}.5\x1b[0m" for i in range(5)],
        "log.jsonl": [f'{{"step": {i}, "loss": {i}.5}}' for i in range(5)],
    }[name]
    run = only_run(written(tmp_path / name, "".join(line + break_ for line in lines)))
    assert points(run, "loss") == [(i, i + 0.5) for i in range(5)]


@pytest.mark.parametrize("name", ["log.csv", "metrics.csv", "results.tsv", "train.log", "metrics.json"])
def test_a_binary_file_with_the_name_of_a_log_is_not_a_run(tmp_path, name):
    written(tmp_path / name, b"\x89PNG\r\n\x1a\n" + random.Random(0).randbytes(50_000))
    written(tmp_path / "good" / "log.csv", "step,loss\n0,2.5\n1,1.5\n")
    assert list(runs_of_other_formats(tmp_path)) == ["good/log.csv"]
    notes = [(note.level, note.path) for note in pb.read(tmp_path).notes()]
    assert notes == ([("unreadable", str(tmp_path / name))] if name.endswith(("csv", "tsv")) else [])


def test_a_table_that_is_only_zeros_yet_is_not_noted(tmp_path):
    written(tmp_path / "log.csv", bytes(1000))
    written(tmp_path / "good" / "log.csv", "step,loss\n0,2.5\n1,1.5\n")
    assert pb.read(tmp_path).notes() == []


MEMORY = """
import resource, sys
sys.path[:0] = {paths!r}
from pulseboard.read.format import Candidate, reader_for
import numpy
reader = reader_for(Candidate({small!r}, given=True))
list(reader.read({small!r}))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
reader = reader_for(Candidate({large!r}, given=True))
runs = list(reader.read({large!r}))
points = sum(len(series) for run in runs for series in run.series.values())
print(reader.id, points, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("kind", ["prose", "metrics", "zeros"])
def test_memory_does_not_grow_with_the_size_of_a_text(tmp_path, kind):
    """120 MB of text take less than 100 MB: the chunks of two threads, and the points. 10 GB take no more than that."""
    small, large = tmp_path / "small.log", tmp_path / "large.log"
    metrics = "".join(f"step {i} loss {i}.5\n" for i in range(100))
    words = random.Random(1)
    prose = "".join(f"{words.random()} {hex(words.getrandbits(64))} some {i} words\n" for i in range(20_000))
    # What follows the numbers of a step, as models print samples.
    filler = {"prose": prose, "metrics": metrics + ("." * 1000 + "\n") * 20, "zeros": "\0" * 1_000_000}[kind]
    small.write_text(metrics)
    with large.open("w") as stream:
        stream.write(metrics)
        written_chars = 0
        while written_chars < 120_000_000:
            # Every repetition makes lines of new shapes.
            text = filler.replace("words", f"w{written_chars:x}x") if kind == "prose" else filler
            stream.write(text)
            written_chars += len(text)
    code = MEMORY.format(paths=sys.path, small=str(small), large=str(large))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    format_, found, kilobytes = ran.stdout.split()
    assert format_ == "text"
    assert int(found) >= 100
    assert int(kilobytes) < 100_000 + int(found) * 128 / 1024


def test_a_log_of_prose_is_not_asked_about_forever(tmp_path):
    scanner = kernel.LineScanner(kernel.TEXT, max_shapes=10)
    data = b"".join(b"%s 1\n" % (b"x" * i) for i in range(1, 100))
    at, asked = 0, 0
    while True:
        at, shape = scanner.feed(data, at)
        if shape is None:
            break
        asked += 1
        scanner.learn(shape[0], 0)
    assert (asked, scanner.shapes, at) == (10, 10, len(data))
    lines, *_ = scanner.take()
    assert len(lines) == 10 * 8


# ---- configurations


def test_a_few_lines_of_yaml_that_stand_for_a_billion_values_are_refused(tmp_path):
    bomb = "a: &a [1,2,3,4,5,6,7,8,9]\n" + "".join(
        f"{chr(97 + i)}: &{chr(97 + i)} [{','.join([f'*{chr(96 + i)}'] * 9)}]\n" for i in range(1, 12)
    )
    began = time.process_time()
    config, notes = yaml_mapping(str(written(tmp_path / "hparams.yaml", bomb)))
    assert (config, [note.level for note in notes]) == ({}, ["unreadable"])
    config, notes = yaml_mapping(str(written(tmp_path / "self.yaml", "a: &a [1, *a]\n")))
    assert (config, [note.level for note in notes]) == ({}, ["unreadable"])
    assert time.process_time() - began < 5
    config, notes = yaml_mapping(str(written(tmp_path / "good.yaml", "a: &a [1, 2]\nb: *a\n")))
    assert (config, notes) == ({"a": [1, 2], "b": [1, 2]}, [])


# ---- databases


def trackio(path, *, metrics="create table metrics (run_name text, step integer, timestamp text, metrics text)"):
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path)
    database.execute(metrics)
    return database


def test_a_view_without_end_is_refused(tmp_path):
    endless = (
        "create view metrics as with recursive r(i) as (select 1 union all select i + 1 from r) "
        "select 'a' as run_name, i as step, '' as timestamp, '{}' as metrics from r"
    )
    trackio(tmp_path / "project.db", metrics=endless).close()
    began = time.process_time()
    run = only_run(tmp_path / "project.db")
    assert (levels(run), "is a view" in run.notes()[0].what) == (["damage"], True)
    assert time.process_time() - began < 5


def test_a_locked_database_gets_a_note_and_is_read_when_it_is_free(tmp_path):
    path = tmp_path / "project.db"
    database = trackio(path)
    database.execute("insert into metrics values ('owl', 1, '2026-01-01', '{\"loss\": 2.5}')")
    database.commit()
    database.isolation_level = None
    database.execute("begin exclusive")
    run = only_run(path)
    assert (levels(run), "locked" in run.notes()[0].what) == (["unreadable"], True)
    database.execute("rollback")
    database.close()
    assert points(only_run(path), "loss") == [(1, 2.5)]


def test_a_database_with_text_that_is_not_text_is_read(tmp_path):
    database = trackio(tmp_path / "project.db")
    row = "insert into metrics values (cast(x'66ff6f' as text), 1, cast(x'ff' as text), cast(? as text))"
    database.execute(row, (b'{"loss\xff": 2.5}',))
    database.execute("insert into metrics values ('owl', 'x', 3, x'ffff')")
    database.commit()
    database.close()
    runs = runs_of_other_formats(tmp_path)
    assert [points(run, tag) for run in runs.values() for tag in run.tags()] == [[(1, 2.5)]]


def test_a_schema_with_a_name_that_is_not_text_is_noted(tmp_path):
    path = tmp_path / "project.db"
    trackio(path).close()
    data = path.read_bytes()
    assert b"CREATE TABLE metrics" in data
    path.write_bytes(data.replace(b"CREATE TABLE metrics", b"CREATE TABLE m\xff\xfe(((("[:20]))
    check_soundness(path)
    assert levels(only_run(path)) == ["damage"]


# ---- records with correct checksums and wrong content


def reframed(data, change):
    """The file with one record's payload changed, and its checksum made right again."""
    log_bytes, out, place = data[:7], bytearray(data[:7]), 7
    assert log_bytes[:1] == b":"
    while place + 7 <= len(data):
        _, length, kind = record_log._FRAGMENT_HEADER.unpack(data[place : place + 7])
        payload = change(data[place + 7 : place + 7 + length])[: record_log._BLOCK_BYTES // 2]
        checksum = record_log.zlib.crc32(payload, record_log.zlib.crc32(bytes([kind])))
        out += record_log._FRAGMENT_HEADER.pack(checksum, len(payload), kind) + payload
        place += 7 + length
    return bytes(out)


@pytest.mark.parametrize("name", ["wandb/run/run-a.wandb", "swanlab/run"])
def test_records_of_trackers_may_say_anything(tmp_path, name):
    path = SAMPLES / name
    path = next(path.glob("*.swanlab")) if path.is_dir() else path
    data = path.read_bytes()
    copy = tmp_path / path.name
    chance = random.Random(3)

    def change(payload):
        payload = bytearray(payload)
        for _ in range(chance.randrange(4)):
            if payload:
                payload[chance.randrange(len(payload))] = chance.randrange(256)
        return bytes(payload[: chance.randrange(len(payload) + 1)]) if chance.random() < 0.2 else bytes(payload)

    assert len(list(record_log.RecordLog(str(path)).records())) > 5
    for _ in range(150):
        copy.write_bytes(reframed(data, change))
        check_soundness(copy)


def test_a_row_of_w_and_b_without_names_is_left_out(tmp_path):
    item = wire.text_field(16, value="2.5")
    named = wire.text_field(1, value="loss") + wire.text_field(16, value="1.5")
    step = wire.text_field(1, value="_step") + wire.text_field(16, value="3")
    history = b"".join(wire.bytes_field(1, value=one) for one in (item, b"", named, step))
    payload = wire.bytes_field(2, value=history)
    frame = record_log._FRAGMENT_HEADER.pack(
        record_log.zlib.crc32(payload, record_log.zlib.crc32(b"\1")), len(payload), 1
    )
    run = only_run(written(tmp_path / "run" / "run-a.wandb", b":W&B\xe1\xbe\0" + frame + payload))
    assert {tag: points(run, tag) for tag in run.tags()} == {"loss": [(3, 1.5)]}
