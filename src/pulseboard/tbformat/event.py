"""Encoding Events: the version record, session starts, and summaries of encoded values."""

from __future__ import annotations

from pulseboard.tbformat import wire

FILE_VERSION = "brain.Event:2"
_SESSION_START = 1


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


def graph_event(graph: bytes, *, wall_time: float) -> bytes:
    """An Event with this encoded GraphDef."""
    return _head(step=0, wall_time=wall_time) + wire.bytes_field(4, value=graph)


def run_metadata_event(tag: str, *, data: bytes, wall_time: float) -> bytes:
    """An Event with this encoded RunMetadata."""
    tagged = wire.text_field(1, value=tag) + wire.bytes_field(2, value=data)
    return _head(step=0, wall_time=wall_time) + wire.bytes_field(8, value=tagged)


def _head(*, step: int, wall_time: float) -> bytes:
    return wire.double_field(1, value=wall_time) + (wire.varint_field(2, value=step) if step else b"")
