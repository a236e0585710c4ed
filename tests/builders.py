"""Builders of event files: Events made of TensorBoard's own messages, framed with its own checksums."""

import struct

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c


def record(payload: bytes) -> bytes:
    """One record of a file, with both checksums right."""
    return head(len(payload)) + payload + struct.pack("<I", masked_crc32c(payload))


def head(length: int) -> bytes:
    """The first twelve bytes of a record that says it is this long."""
    raw = struct.pack("<Q", length)
    return raw + struct.pack("<I", masked_crc32c(raw))


def event_file(*events: Event) -> bytes:
    """The events as a file, a record each."""
    return b"".join(record(event.SerializeToString()) for event in events)


def version(text: str = "brain.Event:2") -> Event:
    """The record most files begin with."""
    return Event(wall_time=1.0, file_version=text)


def session_start(step: int, *, wall_time: float = 2.0) -> Event:
    """A restart: what came before with this step or a later one is orphaned."""
    return Event(wall_time=wall_time, step=step, session_log=SessionLog(status=SessionLog.START))


def summary(*values: Summary.Value, step: int = 0, wall_time: float = 2.0) -> Event:
    """An Event of these values."""
    return Event(wall_time=wall_time, step=step, summary=Summary(value=values))


def scalar(tag: str, value: float) -> Summary.Value:
    """A scalar as SummaryWriter leaves it."""
    return Summary.Value(tag=tag, simple_value=value)


def tensor(tag: str, proto: TensorProto, *, plugin: str | None = "scalars") -> Summary.Value:
    """A tensor, by default one that says it is a scalar."""
    value = Summary.Value(tag=tag, tensor=proto)
    if plugin is not None:
        value.metadata.plugin_data.plugin_name = plugin
    return value


def scalars(tag: str, *points: tuple[int, float]) -> list[Event]:
    """An Event for each (step, value)."""
    return [summary(scalar(tag, value), step=step, wall_time=100.0 + step) for step, value in points]
