"""VisualDL's `vdlrecords.*.log`: records of Paddle's logger. Each is a length of 8 bytes and a protobuf message.

message Record { repeated Value values = 1; }
message Value { int64 id = 1; string tag = 2; int64 timestamp = 3 (ms); float value = 4; ... images, audio, texts }
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from pulseboard.core.note import Note
from pulseboard.core.plural import plural
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.parsing.series_builder import SeriesBuilder
from pulseboard.rundir.regular_file import open_regular
from pulseboard.tbformat.wire import MalformedMessage, Message

_LENGTH = struct.Struct("<Q")
# Images and audio are skipped without being read.
_MAX_SCALARS_BYTES = 1 << 20
_SCALAR = 4


def _is_visualdl(candidate: Candidate) -> bool:
    head = candidate.head
    return len(head) > _LENGTH.size and head[_LENGTH.size : _LENGTH.size + 1] == b"\n"


@reader(id="visualdl", files=("vdlrecords.*.log",), recognizes=_is_visualdl, named_after_directory=True)
def read_visualdl(path: str) -> Iterator[RunData]:
    """One run: its scalars."""
    builder, bad, notes = SeriesBuilder(), 0, list[Note]()
    size = os.path.getsize(path)
    with open_regular(path) as stream:
        while len(header := stream.read(_LENGTH.size)) == _LENGTH.size:
            (length,) = _LENGTH.unpack(header)
            if length > size - stream.tell():
                what = "The last record is incomplete: the file was truncated, or is still being written."
                notes.append(Note("info", what, path, stream.tell()))
                break
            if length > _MAX_SCALARS_BYTES:
                stream.seek(length, os.SEEK_CUR)
                continue
            try:
                for value in Message(stream.read(length)).messages(1):
                    if value.has(_SCALAR):
                        wall_time = value.integer(3) / 1e3
                        builder.add(
                            value.text(2), step=value.integer(1), value=value.single(_SCALAR), wall_time=wall_time
                        )
            except (MalformedMessage, RecursionError):
                bad += 1
    if bad:
        notes.append(Note("damage", f"Left out {plural(bad, 'damaged record')}.", path))
    yield RunData(builder.series(), notes=notes)
