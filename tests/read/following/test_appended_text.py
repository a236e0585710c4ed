"""A text file that grows is read on from where it was read to, with the same result as reading it at once."""

import io
import json
import os
import random

import numpy as np
import pytest
from other_formats import written

import pulseboard as pb
from pulseboard.read import format as formats
from pulseboard.read.format import all_readers
from pulseboard.read.parsing import line_file, prefix

SEEDS = range(40)


def _reader(id):
    return next(one for one in all_readers() if one.id == id)


def _csv(rng):
    delimiter = rng.choice(",;\t")
    lines = ["# made by a test"] * rng.randrange(2) + [delimiter.join(["epoch", "step", "loss", "note, one", "date"])]
    step = 0
    for _ in range(rng.randrange(5, 60)):
        step = 0 if rng.random() < 0.02 else step + rng.randrange(3)
        value = rng.choice([f"{rng.random():.4f}", f"{rng.random():.2e}", "nan", "", "oops", "-inf"])
        note = rng.choice(["ok", "", '"a ""quoted"" cell"', '"two\nlines"', "1"])
        cells = [str(step // 10), str(step), value, note, rng.choice(["2026-01-02 03:04:05", "", "then"])]
        cells = cells[: rng.choice([5, 5, 5, 3])] + ["extra"] * (rng.random() < 0.05)
        lines.append(delimiter.join(cells))
        if rng.random() < 0.05:
            lines.append(rng.choice(["", "# a comment", lines[-1], delimiter.join(["epoch", "step", "loss"])]))
    return lines


def _json_lines(rng):
    lines = []
    for step in range(rng.randrange(5, 60)):
        record = {"step": step, "loss": rng.random(), "time": 1.7e9 + step, "lr": {"group/0": 10.0**-step}}
        if rng.random() < 0.3:
            record = {"eval": {"accuracy": rng.choice([rng.random(), None, "NaN", True])}, "step": step, "é": "ü"}
        lines.append(json.dumps(record, ensure_ascii=rng.random() < 0.5))
        if rng.random() < 0.1:
            lines.append(rng.choice(["", "not JSON", '{"step": 1, ', "[1, 2]"]))
    return lines


def _text(rng):
    lines = ["Loading 3 files", "lr: 0.001", "Überschrift 5"]
    for step in range(rng.randrange(5, 60)):
        kind = rng.randrange(6)
        if kind < 3:
            lines.append(f"[2026-01-02 03:{step % 60:02d}:05] step {step}: loss {rng.random():.4f}, lr=1e-{step % 9}")
        elif kind == 3:
            lines.append(f"Epoch {step // 10}/6")
        elif kind == 4:
            lines.append(f"val_loss: {rng.random():.3f} acc {rng.random():.1%}")
        else:
            lines.append(rng.choice(["saved", "Testing...", "Validation:", "", "Traceback", "x" * rng.randrange(300)]))
    return lines


def _numbers(rng):
    columns = rng.randrange(1, 4)
    return [
        " ".join([str(row), *(f"{rng.random():.3f}" for _ in range(columns))]) if rng.random() < 0.95 else "# pause"
        for row in range(rng.randrange(8, 60))
    ]


def _named_values(rng):
    names = ["train", "val", "hella"]
    return [f"{10 * row} {rng.choice(names)} {rng.random():.4f}" for row in range(rng.randrange(60))]


def _monitor(rng):
    rows = (f"{rng.random():.4f},{rng.randrange(200)},{row}.5" for row in range(rng.randrange(60)))
    return ['#{"t_start": 1700000000.0}', "r,l,t", *rows]


LOGS = {"csv": ("log.csv", _csv), "json": ("log.jsonl", _json_lines), "text": ("log.txt", _text)}
LOGS["lightning-csv"] = ("metrics.csv", _csv)
LOGS["sb3-monitor"] = ("0.monitor.csv", _monitor)
LOGS |= {"numbers": ("loss.txt", _numbers), "step-name-value": ("log.txt", _named_values)}


@pytest.fixture(autouse=True)
def small_numbers(monkeypatch):
    """Files of a few kilobytes are read on, and in chunks, as large ones are."""
    monkeypatch.setattr(prefix, "_MIN_BYTES", 128)
    monkeypatch.setattr(prefix, "_BLOCK_BYTES", 64)
    monkeypatch.setattr(prefix, "_STRIDE_BYTES", 256)
    monkeypatch.setattr(line_file, "_CHUNK_BYTES", 700)


def _content(runs):
    return [
        (
            run.name,
            run.config,
            run.notes,
            run.axis,
            repr(run.restarts),
            [
                (tag, *(np.asarray(column).tobytes() for column in _arrays(series)))
                for tag, series in run.series.items()
            ],
        )
        for run in runs
    ]


def _arrays(series):
    return series.steps, series.wall_times, series.values, series.orphaned


def _text_of(rng, lines, encoding):
    breaks = [rng.choice(["\n", "\r\n", "\r"])] if rng.random() < 0.7 else ["\n", "\r\n", "\r"]
    text = "".join(line + rng.choice(breaks) for line in lines)
    return text.encode(encoding)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("id", LOGS)
def test_a_file_appended_piece_by_piece_reads_like_the_whole_file(tmp_path, id, seed):
    rng = random.Random(f"{id} {seed}")
    name, make = LOGS[id]
    data = _text_of(rng, make(rng), rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16"]))
    reader = _reader(id)
    path = tmp_path / name
    follower = reader.follow()
    halves = [at + 1 for at in range(len(data)) if data[at : at + 2] == b"\r\n"]  # within line breaks
    cuts = rng.sample(range(len(data) + 1), min(len(data), rng.randrange(1, 30)))
    cuts = [*sorted(cuts + rng.sample(halves, min(len(halves), rng.randrange(10)))), len(data)]
    written_bytes = 0
    for cut in cuts:  # most cuts are within a line
        with path.open("ab") as stream:
            stream.write(data[written_bytes:cut])
        written_bytes = cut
        assert _content(follower.update(str(path))) == _content(reader.read(str(path)))


@pytest.mark.parametrize("seed", SEEDS[:15])
@pytest.mark.parametrize("id", LOGS)
def test_a_file_that_is_cut_replaced_or_written_again_reads_like_a_new_one(tmp_path, id, seed):
    rng = random.Random(f"{id} {seed} changed")
    name, make = LOGS[id]
    reader, path = _reader(id), tmp_path / name
    data = _text_of(rng, make(rng), "utf-8")
    path.write_bytes(data)
    follower = reader.follow()
    follower.update(str(path))
    for turn in range(6):
        change = rng.randrange(4)
        if change == 0:
            os.truncate(path, rng.randrange(path.stat().st_size))
        elif change == 1:
            path.with_suffix(".new").write_bytes(_text_of(rng, make(rng), "utf-8"))
            os.replace(path.with_suffix(".new"), path)
        elif change == 2:
            path.write_bytes(_text_of(rng, make(rng), "utf-8"))
        else:
            with path.open("ab") as stream:
                stream.write(b"\n" + _text_of(rng, make(rng)[1:], "utf-8"))
        os.utime(path, (turn, turn))
        assert _content(follower.update(str(path))) == _content(reader.read(str(path)))


def test_a_change_in_the_middle_is_noticed_within_a_few_updates(tmp_path, monkeypatch):
    monkeypatch.setattr(prefix, "_BLOCK_BYTES", 256)  # as large as the stride: every byte is compared in turn
    monkeypatch.setattr(prefix, "_BLOCKS_PER_CHECK", 2)
    path = written(tmp_path / "log.csv", "step,loss\n" + "".join(f"{i},1.5\n" for i in range(1000)))
    follower = _reader("csv").follow()
    follower.update(str(path))
    with path.open("r+b") as stream:
        stream.seek(4000)
        changed = stream.read(100).replace(b"1.5", b"9.5")
        stream.seek(4000)
        stream.write(changed)
    for i in range(1000, 1030):
        with path.open("a") as stream:
            stream.write(f"{i},1.5\n")
        follower.update(str(path))
    assert _content(follower.update(str(path))) == _content(_reader("csv").read(str(path)))


@pytest.fixture
def bytes_read(monkeypatch):
    """How many bytes of files were read, in a list of one number."""
    total = [0]

    class Counted(io.FileIO):
        def read(self, size=-1):
            data = super().read(size)
            total[0] += len(data)
            return data

    for module in (line_file, formats):
        monkeypatch.setattr(module, "open_regular", lambda path: Counted(path, "r"))
    return total


@pytest.mark.parametrize(
    ("name", "head", "line"),
    [
        ("log.csv", "step,loss,accuracy\n", "{i},0.5,0.25\n"),
        ("log.jsonl", "", '{{"step": {i}, "loss": 0.5}}\n'),
        ("train.log", "", "step {i}: loss 0.5, accuracy 0.25\n"),
    ],
)
def test_only_new_bytes_of_a_large_file_are_read(tmp_path, monkeypatch, bytes_read, name, head, line):
    monkeypatch.setattr(prefix, "_BLOCK_BYTES", 4096)
    monkeypatch.setattr(prefix, "_STRIDE_BYTES", 1 << 20)
    text = head + "".join(line.format(i=i) for i in range(100_000))
    path = written(tmp_path / name, text)
    runs = pb.read(tmp_path)
    assert len(runs[name].series("loss")) == 100_000
    assert bytes_read[0] >= len(text)
    bytes_read[0] = 0
    with path.open("a") as stream:
        stream.write(line.format(i=100_000))
    assert runs.poll([str(path)]).grown == (name,)
    assert len(runs[name].series("loss")) == 100_001
    assert 0 < bytes_read[0] < 60_000  # the new line, and some blocks of what was read before
