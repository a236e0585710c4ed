"""For these tests: a small log that never changes, the command run in-process, and golden files."""

import os
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from builders import event_file, scalar, session_start, summary, tensor, version
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from pulseboard.cli import main

GOLDEN = Path(__file__).parents[1] / "golden"
BEGAN = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC


@pytest.fixture(autouse=True)
def plain_surroundings(monkeypatch):
    """Dates in UTC, and nothing of the caller's terminal."""
    monkeypatch.setenv("TZ", "UTC")
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


class Ran(NamedTuple):
    """What a command gave back."""

    code: int
    out: str
    err: str


@pytest.fixture
def pulseboard(capsys):
    """Runs the command as `pulseboard ARGS` would."""

    def run(*args):
        capsys.readouterr()
        try:
            code = main([str(arg) for arg in args])
        except SystemExit as leaving:
            code = leaving.code or 0
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run


@pytest.fixture
def golden():
    """Compares text with a file of tests/golden; `make golden` rewrites the files."""

    def compare(text, name):
        path = GOLDEN / name
        if os.environ.get("PULSEBOARD_GOLDEN"):
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path} is not there yet: write it with `make golden`, then read it"
        assert text == path.read_text(encoding="utf-8"), "if the change is meant, run `make golden` and read the diff"

    return compare


def begin():
    """The version record, at the time the log began."""
    event = version()
    event.wall_time = BEGAN
    return event


def at(step, *values):
    """An Event, one minute a step after the beginning."""
    return summary(*values, step=step, wall_time=BEGAN + 60 * step)


def histogram(tag, low, high):
    proto = HistogramProto(min=low, max=high, num=3, sum=low + high, sum_squares=low**2 + high**2)
    proto.bucket_limit.extend([(low + high) / 2, high])
    proto.bucket.extend([1, 2])
    return Summary.Value(tag=tag, histo=proto)


def baseline():
    """A run with several kinds of data, a NaN, an infinity and a spike."""
    yield begin()
    yield at(0, tensor("notes", TensorProto(dtype=7, string_val=[b"first try"]), plugin="text"))
    for step in range(0, 200, 2):
        loss = 1000.0 if step == 120 else float("nan") if step == 60 else 4.0 / (1 + step / 20)
        rate = 0.5 if step < 100 else 0.25
        yield at(step, scalar("train/loss", loss), scalar("train/rate", rate))
        if step % 50 == 0:
            yield at(step, scalar("validation/loss", float("inf") if step == 0 else 3.0 - step / 100))
            yield at(step, histogram("weights", -1.0, 1.0 + step))


def write(path, *events, data=None):
    """A file with a time of its own, so that nothing depends on when the test runs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(event_file(*events) if data is None else data)
    os.utime(path, (BEGAN, BEGAN))


@pytest.fixture
def runs(tmp_path):
    """The log directory: every kind of run that the commands speak of."""
    root = tmp_path / "runs"
    name = "events.out.tfevents.1700000000.host"
    write(root / "baseline" / name, *baseline())
    write(root / "resumed" / f"{name}.1", begin(), *(at(s, scalar("loss", 10.0 - s)) for s in range(10)))
    write(
        root / "resumed" / f"{name}.2",
        begin(),
        session_start(6, wall_time=BEGAN + 700),
        *(at(s, scalar("loss", 8.0 - s / 2)) for s in range(6, 10)),
    )
    for rate in (0.1, 0.01):
        write(root / "sweep" / f"lr={rate}" / name, begin(), at(5, scalar("loss", rate)))
    damaged = bytearray(event_file(begin(), *(at(s, scalar("loss", s + 1.0)) for s in range(3))))
    damaged[100] ^= 0xFF
    write(root / "damaged" / name, data=bytes(damaged))
    write(root / "empty" / name, data=b"")
    return root


@pytest.fixture
def readable(tmp_path):
    """Output with the test's own directory taken out."""
    return lambda text: text.replace(str(tmp_path), "/logs")
