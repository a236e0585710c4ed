"""Encoding Events: the version record, session starts, and summaries of encoded values."""

from __future__ import annotations

from typing import NamedTuple

from pulseboard.tbformat import wire

FILE_VERSION = "brain.Event:2"
_SESSION_START = 1

# Added to the number of a field of Event, as in kinds.py.
_EVENT_FIELDS = 100
_METADATA = 9


class EncodedValue(NamedTuple):
    """A value as it is in an event file."""

    step: int
    wall_time: float
    field: int  # the field that holds it, as in kinds.py
    data: bytes  # a Summary.Value message; if `field` is 100 or more, the content of that field of Event


def version_event(*, wall_time: float) -> bytes:
    """The first record of every file. Readers honor session starts only after it."""
    return wire.double_field(1, value=wall_time) + wire.text_field(3, value=FILE_VERSION)


def session_start_event(*, step: int, wall_time: float) -> bytes:
    """Marks that the run resumes at `step`. Readers orphan everything logged at or after that step before."""
    session = wire.varint_field(1, value=_SESSION_START)
    return _head(step=step, wall_time=wall_time) + wire.bytes_field(7, value=session)


def summary_event(*values: bytes, step: int, wall_time: float) -> bytes:
    """An Event with these encoded Summary.Values."""
    summary = b"".join(wire.bytes_field(1, value=value) for value in values)
    return encoded_summary_event(summary, step=step, wall_time=wall_time)


def encoded_summary_event(summary: bytes, *, step: int, wall_time: float) -> bytes:
    """An Event with this encoded Summary."""
    return _head(step=step, wall_time=wall_time) + wire.bytes_field(5, value=summary)


def value_event(value: EncodedValue, *, metadata: bytes = b"") -> bytes:
    """An Event with a value. `metadata` is given to one that has none of its own."""
    if value.field >= _EVENT_FIELDS:
        head = _head(step=value.step, wall_time=value.wall_time)
        return head + wire.bytes_field(value.field - _EVENT_FIELDS, value=value.data)
    own = any(number == _METADATA for number, *_ in wire.read_fields(value.data, start=0, end=len(value.data)))
    added = wire.bytes_field(_METADATA, value=metadata) if metadata and not own else b""
    return summary_event(value.data + added, step=value.step, wall_time=value.wall_time)


def graph_event(graph: bytes, *, wall_time: float) -> bytes:
    """An Event with this encoded GraphDef."""
    return _head(step=0, wall_time=wall_time) + wire.bytes_field(4, value=graph)


def run_metadata_event(tag: str, *, data: bytes, wall_time: float) -> bytes:
    """An Event with this encoded RunMetadata."""
    tagged = wire.text_field(1, value=tag) + wire.bytes_field(2, value=data)
    return _head(step=0, wall_time=wall_time) + wire.bytes_field(8, value=tagged)


def _head(*, step: int, wall_time: float) -> bytes:
    return wire.double_field(1, value=wall_time) + (wire.varint_field(2, value=step) if step else b"")
