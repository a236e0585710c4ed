"""Decoding for these tests: TensorBoard's own messages and event files in, our values out."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary

from pulseboard.kernel.reader import EventLog
from pulseboard.tbformat import kinds, summary

# The fields of Summary.Value and of Event, as the kernel numbers them.
VALUE_FIELDS = {None: 0, "obsolete_old_style_histogram": 3, "image": 4, "histo": 5, "audio": 6, "tensor": 8}
EVENT_FIELDS = {"graph_def": 104, "log_message": 106, "tagged_run_metadata": 108, "meta_graph_def": 109}


class Found(NamedTuple):
    """A decoded span of a file."""

    tag: str
    kind: str
    value: Any
    data: bytes
    field: int


def decode_summary_value(value: Summary.Value, *, tag_metadata: bytes = b"", plugin: str | None = None) -> Any:
    field = VALUE_FIELDS[value.WhichOneof("value")]
    kind = kinds.kind_of(field, value.metadata.plugin_data.plugin_name if plugin is None else plugin)
    return summary.decode_value(kind, value.SerializeToString(), tag_metadata, step=3, wall_time=1.5, field=field)


def decode_event_field(event: Event) -> Any:
    name = event.WhichOneof("what")
    content = getattr(event, name)
    data = content if isinstance(content, bytes) else content.SerializeToString()
    field = EVENT_FIELDS[name]
    return summary.decode_value(kinds.kind_of(field, None), data, b"", step=3, wall_time=1.5, field=field)


def found_in(path: Path) -> Iterator[Found]:
    """Every span of an event file, decoded as in the read room."""
    log = EventLog()
    log.load(os.fsencode(path))
    data = path.read_bytes()
    for tag, plugin, _, spans, span_fields, _, meta_offset, meta_length, index in log.tags():
        if not spans:
            continue
        metadata = data[meta_offset : meta_offset + meta_length]
        steps, walls, offsets, lengths, fields, _ = log.span_columns(index)
        columns = (
            np.frombuffer(steps, np.int64),
            np.frombuffer(walls, np.float64),
            np.frombuffer(offsets, np.uint64),
            np.frombuffer(lengths, np.uint32),
            np.frombuffer(fields, np.uint32),
        )
        assert set(columns[4].tolist()) == set(kinds.fields_in(span_fields))
        for step, wall_time, offset, length, field in zip(*(c.tolist() for c in columns), strict=True):
            kind = kinds.kind_of(field, plugin)
            piece = data[offset : offset + length]
            value = summary.decode_value(kind, piece, metadata, step=step, wall_time=wall_time, field=field)
            yield Found(tag, kind, value, piece, field)


@pytest.fixture(scope="session")
def decode() -> Callable[..., Any]:
    """Decodes a Summary.Value, made with TensorBoard's classes."""
    return decode_summary_value


@pytest.fixture(scope="session")
def decode_event() -> Callable[..., Any]:
    """Decodes the field of an Event that is not a summary."""
    return decode_event_field


@pytest.fixture(scope="session")
def found() -> Callable[[Path], Iterator[Found]]:
    """Decodes a whole event file."""
    return found_in


@pytest.fixture(scope="session")
def written() -> Callable[[Path], dict[str, list[Any]]]:
    """The values of each tag that a writer wrote to a directory."""

    def written(directory: Path) -> dict[str, list[Any]]:
        out: dict[str, list[Any]] = {}
        for path in sorted(directory.rglob("*tfevents*")):
            for item in found_in(path):
                out.setdefault(item.tag, []).append(item.value)
        return out

    return written
