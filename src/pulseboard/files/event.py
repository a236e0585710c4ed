"""Events as a writer makes them: the version record, session starts, and summaries of encoded values."""

from __future__ import annotations

from pulseboard.files import wire

FILE_VERSION = "brain.Event:2"
_SESSION_START = 1


def version_event(*, wall_time: float) -> bytes:
    """The first record of every file: readers take session starts at their word only after it."""
    return wire.double_field(1, value=wall_time) + wire.text_field(3, value=FILE_VERSION)


def session_start_event(*, step: int, wall_time: float) -> bytes:
    """Says that the run resumes at `step`: what was logged at or after it is orphaned."""
    session = wire.varint_field(1, value=_SESSION_START)
    return _head(step=step, wall_time=wall_time) + wire.bytes_field(7, value=session)


def summary_event(*values: bytes, step: int, wall_time: float) -> bytes:
    """An Event of Summary.Values that are encoded already."""
    summary = b"".join(wire.bytes_field(1, value=value) for value in values)
    return _head(step=step, wall_time=wall_time) + wire.bytes_field(5, value=summary)


def _head(*, step: int, wall_time: float) -> bytes:
    return wire.double_field(1, value=wall_time) + (wire.varint_field(2, value=step) if step else b"")
