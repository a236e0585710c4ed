"""What was read of a log of another format than event files, as bytes for the disk index.

    0   4 bytes  "PBL1"
    4   u32      length of the header, little-endian
    8   u32      CRC-32 of the header
    12  JSON     what the file was, and its runs; each array as [offset, count, type, CRC-32] of a block
    ..  blocks   each at its offset from the end of the header: i8, f8 or b1, little-endian

Used only if nothing that the result depends on has changed: the file, settings next to it, and our own code.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulseboard.core.note import Note
from pulseboard.core.series import Series
from pulseboard.kernel import reader as kernel
from pulseboard.read import format as formats
from pulseboard.read.axis.info import AxisInfo
from pulseboard.read.discovery.scan import FoundFile
from pulseboard.read.format import Reader, RunData, all_readers
from pulseboard.read.run import Restart

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAGIC = b"PBL1"
_PREFIX_BYTES = 12
_TYPES = {"int64": "i8", "float64": "f8", "bool": "b1"}
# Files in the directory of a log that readers take a configuration from.
_SETTINGS_FILES = ("hparams.yaml", "config.json", "config.yaml", "run.json", "params.json", "args.yaml", "meta.yaml")


@dataclass(slots=True)
class ParsedLog:
    """A log as it was read. Has what the index needs to know of everything it saves."""

    found: FoundFile
    given: bool
    reader: Reader
    runs: list[RunData]
    generation: int = 0
    end: int = kernel.END_CLEAN
    _arrays: dict[int, tuple[int, NDArray[Any]]] = field(default_factory=dict)  # by identity: place and array

    @property
    def offset(self) -> int:
        """How much of the file was read."""
        return self.found.size

    @property
    def held_bytes(self) -> int:
        """About the size of what is saved."""
        arrays = {id(array): array.nbytes for run in self.runs for s in run.series.values() for array in _arrays(s)}
        return sum(arrays.values())

    def save(self, fd: int) -> int:
        """Write it to a file. Returns 0, or EILSEQ if it has something that the format cannot hold."""
        self._arrays = {}
        try:
            runs = [self._run(run) for run in self.runs]
        except (TypeError, ValueError):
            return errno.EILSEQ
        blocks, offset = [], 0
        for _, array in self._arrays.values():
            data = array.tobytes()
            blocks.append([offset, len(array), _TYPES[array.dtype.name], zlib.crc32(data)])
            offset += len(data)
        header = json.dumps({**_state_of(self.found, self.given, self.reader), "runs": runs, "blocks": blocks}).encode()
        with open(fd, "wb", closefd=False) as stream:
            stream.write(_MAGIC + len(header).to_bytes(4, "little") + zlib.crc32(header).to_bytes(4, "little") + header)
            for _, array in self._arrays.values():
                stream.write(array.tobytes())
        self._arrays = {}
        return 0

    def _run(self, run: RunData) -> dict[str, Any]:
        if json.loads(json.dumps(run.config)) != run.config:
            raise ValueError("the configuration has something that JSON lacks")
        axis = run.axis
        return {
            "name": run.name,
            "config": run.config,
            "notes": [[note.level, note.what, note.path, note.byte] for note in run.notes],
            "axis": None if axis is None else [axis.kind, axis.columns, axis.steps_per_epoch, axis.note],
            "restarts": [[restart.step, restart.wall_time] for restart in run.restarts],
            "series": [[tag, *map(self._place, _arrays(series))] for tag, series in run.series.items()],
        }

    def _place(self, array: NDArray[Any]) -> int:
        """The block of an array. Series of one table share their steps and wall times."""
        if array.dtype.name not in _TYPES:
            raise ValueError(f"a reader returned an array of {array.dtype}")
        return self._arrays.setdefault(id(array), (len(self._arrays), array))[0]


def load(path: Path, found: FoundFile, *, given: bool) -> tuple[Reader, list[RunData]] | None:
    """What the index holds of a file; None if that is nothing, or not certain to be what the reader would return."""
    try:
        with open(path, "rb") as stream:
            data = stream.read()
        length = int.from_bytes(data[4:8], "little")
        head = data[_PREFIX_BYTES : _PREFIX_BYTES + length]
        if data[:4] != _MAGIC or zlib.crc32(head) != int.from_bytes(data[8:12], "little"):
            return None
        header = json.loads(head)
        reader = next((one for one in all_readers() if one.id == header["reader"]), None)
        if reader is None or any(header.get(k) != value for k, value in _state_of(found, given, reader).items()):
            return None
        blocks = list(_blocks(memoryview(data)[_PREFIX_BYTES + length :], header["blocks"]))
        return reader, [_run_from(run, blocks) for run in header["runs"]]
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None


def _blocks(data: memoryview, blocks: list[Any]) -> Iterator[NDArray[Any]]:
    import numpy as np

    for offset, count, type, checksum in blocks:
        dtype = np.dtype(type)
        piece = data[offset : offset + count * dtype.itemsize]
        if zlib.crc32(piece) != checksum:
            raise ValueError("damaged")
        yield np.frombuffer(piece, dtype, count)


def _run_from(run: Mapping[str, Any], blocks: list[NDArray[Any]]) -> RunData:
    axis = run["axis"]
    return RunData(
        {tag: Series(tag, *(blocks[place] for place in places)) for tag, *places in run["series"]},
        name=run["name"],
        config=run["config"],
        notes=[Note(*note) for note in run["notes"]],
        axis=None if axis is None else AxisInfo(axis[0], tuple(axis[1]), axis[2], axis[3]),
        restarts=[Restart(*restart) for restart in run["restarts"]],
    )


def _arrays(series: Series) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any], NDArray[Any]]:
    return series.steps, series.wall_times, series.values, series.orphaned


def _state_of(found: FoundFile, given: bool, reader: Reader) -> dict[str, Any]:
    """Everything that decides what a reader returns, as JSON."""
    directory = os.path.dirname(found.path)
    settings = [_stamp(os.path.join(directory, name)) for name in _SETTINGS_FILES]
    return {
        "path": found.path,
        "identity": list(found.identity),
        "size": found.size,
        "mtime_ns": found.mtime_ns,
        "given": given,
        "settings": settings,
        "reader": reader.id,
        "code": [_code_digest(), _stamp(reader.source)],
        "time_zone": _time_zone(),
    }


def _stamp(path: str) -> list[int] | None:
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return [stat.st_size, stat.st_mtime_ns]


def _time_zone() -> list[str]:
    """Dates in logs are mostly in local time."""
    return [*time.tzname, str(time.timezone), os.environ.get("TZ", "")]


@functools.cache
def _code_digest() -> int:
    """Changes whenever the code that reads logs does."""
    top = os.path.dirname(formats.__file__)
    paths = sorted(os.path.join(parent, name) for parent, _, names in os.walk(top) for name in names)
    stamps = [(os.path.relpath(path, top), _stamp(path)) for path in paths if path.endswith(".py")]
    return zlib.crc32(repr(stamps).encode())
