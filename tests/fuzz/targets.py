"""What is fuzzed apart from the kernel's readers of event files: the index, archives, values, HTTP, other formats.

A target turns bytes into work on the real code and raises if a promise is broken: an exception, a crash, more than two
seconds of processor time, or status 500.
"""

import gzip
import json
import os
import socket
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from builders import event_file, scalars, session_start, summary, tensor, version
from fuzz.endpoints import GOOD, EveryEndpoint, requests
from kernel.hostile_index import with_head
from other_formats import check_soundness
from servers import write_everything
from tensorboard.compat.proto.tensor_pb2 import TensorProto

import pulseboard as pb
from pulseboard.kernel.reader import EventLog

MAX_CPU_SECS = 2.0
TAGS = ["loss", "weights", "samples", "speech", "notes", "_hparams_/session_start_info"]  # of `write_everything`
SAMPLES = Path(__file__).resolve().parents[1] / "read" / "formats" / "samples"


class Broken(AssertionError):
    """A promise that an input broke."""


@dataclass
class Target:
    """One thing to fuzz. `check` raises if the input breaks a promise."""

    name: str
    seeds: list[bytes]
    check: Callable[[bytes], None]

    def run(self, data: bytes) -> None:
        """Check one input, and how much processor time it took."""
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # what NumPy says of numbers that nobody checked
            self.check(data)
        took = time.process_time() - began
        if took > MAX_CPU_SECS:
            raise Broken(f"{took:.1f} s of processor time for {len(data)} bytes")


def _an_event_file() -> bytes:
    text = tensor("notes", TensorProto(dtype=7, string_val=[b"x"]), plugin="text")
    points = scalars("loss", *((i, i * 0.5) for i in range(50)))
    return event_file(version(), *points, summary(text), session_start(5), *scalars("b", (5, 1.0)))


# ---- the index


def _index_target(directory: Path) -> Target:
    events, index = directory / "events", directory / "index"
    events.write_bytes(_an_event_file())
    log = EventLog()
    log.load(os.fsencode(events))
    with open(index, "wb") as stream:
        assert log.save(stream.fileno()) == 0
    raw = index.read_bytes()
    at = int.from_bytes(raw[-32:-24], "little")
    length = int.from_bytes(raw[-24:-16], "little")

    def check(head: bytes) -> None:
        index.write_bytes(with_head(raw, lambda _: head))
        restored = EventLog()
        restored.restore(os.fsencode(index), os.fsencode(events))
        for _ in range(100):
            try:
                restored.notes(), restored.restarts()
                for row in restored.tags():
                    restored.point_columns(row[-1]), restored.span_columns(row[-1]), restored.stats(row[-1])
                break
            except IndexError:  # a column is damaged: the file was read again
                continue
        else:
            raise Broken("the log reads its file again and again")
        restored.load(os.fsencode(events))

    return Target("index", [raw[at : at + length]], check)


# ---- archives


def _archive_target(directory: Path) -> Target:
    path = directory / "logs" / "events.out.tfevents.1.gz"
    path.parent.mkdir()
    plain = _an_event_file()
    seeds = [b"P" + plain, b"Z" + gzip.compress(plain, mtime=0), b"Z" + gzip.compress(plain * 200, mtime=0)]

    def check(data: bytes) -> None:
        """P: the archive of these bytes. Anything else: these bytes are the archive."""
        path.write_bytes(gzip.compress(data[1:], 1, mtime=0) if data[:1] == b"P" else data[1:])
        run = pb.read(path.parent)["."]
        for stats in run.stats():
            run.series(stats.tag, orphans=True)
        for tag in run.tags("text"):
            run.texts(tag)
        run.notes()

    return Target("gz", seeds, check)


# ---- other formats


def _formats_target(directory: Path) -> Target:
    files = sorted(p for p in SAMPLES.rglob("*") if p.is_file() and p.name not in ("expected.json", "config.yaml"))
    seeds = [path.name.encode() + b"\n" + path.read_bytes() for path in files]

    def check(data: bytes) -> None:
        """The first line is the name of the file, the rest its content."""
        name, _, content = data.partition(b"\n")
        file = os.path.basename(name.decode("ascii", "replace").replace("\0", ""))[:80] or "train.log"
        if file in (".", ".."):
            return
        path = directory / file
        path.write_bytes(content)
        try:
            check_soundness(path)
        finally:
            path.unlink()

    return Target("formats", seeds, check)


# ---- HTTP


def _http_target(directory: Path, port: int) -> Target:
    seeds = []
    for method, path, query, body in requests([GOOD, "run"], TAGS):
        sent = b"" if body is None else json.dumps(body).encode()
        head = f"{method} /api/{path}?{urlencode(query)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        head += "Content-Type: application/json\r\n" if sent else ""
        seeds.append(f"{head}Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
        chunk = f"{len(sent):x}\r\n".encode() + sent + b"\r\n0\r\nx: trailer\r\n\r\n" if sent else b"0\r\n\r\n"
        seeds.append(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk)

    def check(data: bytes) -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            answer = b""
            try:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                # A stream has no end: its first bytes are enough.
                while len(answer) < 1 << 20 and (part := connection.recv(1 << 16)) and b"event-stream" not in answer:
                    answer += part
            except TimeoutError:
                raise Broken("no response") from None
            except OSError:
                pass  # the server has closed the connection: that is an answer too
        for status in (b"HTTP/1.1 500", b"Internal Server Error"):
            if status in answer:
                raise Broken(answer[:200].decode("latin-1"))

    return Target("http", seeds, check)


# ---- values


def _values_target(directory: Path) -> Target:
    runs = EveryEndpoint(directory)
    return Target("values", runs.seeds, runs.check)


@contextmanager
def all_targets():
    """Every target, with the files and the server they need."""
    with tempfile.TemporaryDirectory() as made:
        top = Path(made)
        for name in ("index", "gz", "values", "formats", "http/logs/run", "cache", "data"):
            (top / name).mkdir(parents=True)
        write_everything(top / "http" / "logs")
        (top / "http" / "logs" / "run" / "events.out.tfevents.1").write_bytes(_an_event_file())
        before = dict(os.environ)
        os.environ |= {"XDG_CACHE_HOME": str(top / "cache"), "PULSEBOARD_DATA_DIR": str(top / "data")}
        try:
            with pb.serve(top / "http" / "logs", port=0) as server:
                yield [
                    _index_target(top / "index"),
                    _archive_target(top / "gz"),
                    _formats_target(top / "formats"),
                    _values_target(top / "values"),
                    _http_target(top / "http", server.port),
                ]
        finally:
            os.environ.clear()
            os.environ |= before
