"""Run metadata: TensorFlow's profile of a step, passed on as it is."""

from __future__ import annotations

from pulseboard.core.values import RunMetadata
from pulseboard.files.kinds import IN_TENSOR
from pulseboard.files.stored import StoredValue
from pulseboard.files.wire import Message


def decode_run_metadata(value: StoredValue) -> RunMetadata:
    """A profile, from an Event of its own or from a summary."""
    if value.what == IN_TENSOR:
        tag, data = value.tag, value.first_string()
    else:
        message = Message(value.data)
        tag, data = message.text(1), message.blob(2)
    return RunMetadata(step=value.step, wall_time=value.wall_time, tag=tag, data=data)
