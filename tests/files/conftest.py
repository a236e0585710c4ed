"""Decoding for these tests: TensorBoard's own messages and event files in, our values out."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary

from pulseboard.files import kinds, summary
from pulseboard.native.kernel import EventLog

# The fields of Summary.Value and of Event, as the kernel numbers them.
_WHAT = {None: 0, "obsolete_old_style_histogram": 3, "image": 4, "histo": 5, "audio": 6, "tensor": 8}
_EVENT_WHAT = {"graph_def": 104, "log_message": 106, "tagged_run_metadata": 108, "meta_graph_def": 109}


class Found(NamedTuple):
    """A span of a file, decoded."""

    tag: str
    kind: str
    value: Any
    data: bytes
    what: int


def decode_summary_value(value: Summary.Value, *, tag_metadata: bytes = b"", plugin: str | None = None) -> Any:
    what = _WHAT[value.WhichOneof("value")]
    kind = kinds.kind_of(what, value.metadata.plugin_data.plugin_name if plugin is None else plugin)
    return summary.decode_value(kind, value.SerializeToString(), tag_metadata, step=3, wall_time=1.5, what=what)


def decode_event_field(event: Event) -> Any:
    name = event.WhichOneof("what")
    field = getattr(event, name)
    data = field if isinstance(field, bytes) else field.SerializeToString()
    what = _EVENT_WHAT[name]
    return summary.decode_value(kinds.kind_of(what, None), data, b"", step=3, wall_time=1.5, what=what)


def found_in(path: Path) -> Iterator[Found]:
    """Every span of an event file, decoded as the reader does."""
    log = EventLog()
    log.load(os.fsencode(path))
    data = path.read_bytes()
    for index, (tag, plugin, _, spans, whats, _, meta_offset, meta_length) in enumerate(log.tags()):
        if not spans:
            continue
        metadata = data[meta_offset : meta_offset + meta_length]
        steps, walls, offsets, lengths, places, _ = log.span_columns(index)
        columns = (
            np.frombuffer(steps, np.int64),
            np.frombuffer(walls, np.float64),
            np.frombuffer(offsets, np.uint64),
            np.frombuffer(lengths, np.uint32),
            np.frombuffer(places, np.uint32),
        )
        assert set(columns[4].tolist()) == set(kinds.whats_of(whats))
        for step, wall_time, offset, length, what in zip(*(c.tolist() for c in columns), strict=True):
            kind = kinds.kind_of(what, plugin)
            piece = data[offset : offset + length]
            value = summary.decode_value(kind, piece, metadata, step=step, wall_time=wall_time, what=what)
            yield Found(tag, kind, value, piece, what)


@pytest.fixture(scope="session")
def decode() -> Callable[..., Any]:
    """Decodes a Summary.Value of TensorBoard's classes."""
    return decode_summary_value


@pytest.fixture(scope="session")
def decode_event() -> Callable[..., Any]:
    """Decodes what stands in an Event beside summaries."""
    return decode_event_field


@pytest.fixture(scope="session")
def found() -> Callable[[Path], Iterator[Found]]:
    """Decodes all of an event file."""
    return found_in


@pytest.fixture(scope="session")
def written() -> Callable[[Path], dict[str, list[Any]]]:
    """The values of each tag that a writer left in a directory."""

    def written(directory: Path) -> dict[str, list[Any]]:
        out: dict[str, list[Any]] = {}
        for path in sorted(directory.rglob("*tfevents*")):
            for item in found_in(path):
                out.setdefault(item.tag, []).append(item.value)
        return out

    return written


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Real logs, beside the repository."""
    path = Path(__file__).parents[2].parent / "shared" / "corpus"
    if not path.is_dir():
        pytest.skip(f"the corpus of real logs is not here: {path}")
    return path
