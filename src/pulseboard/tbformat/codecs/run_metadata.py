"""Run metadata: TensorFlow's profile of a step, passed through undecoded."""

from __future__ import annotations

from pulseboard.core.values import RunMetadata
from pulseboard.tbformat.kinds import TENSOR_FIELD
from pulseboard.tbformat.stored_value import StoredValue
from pulseboard.tbformat.wire import Message


def decode_run_metadata(value: StoredValue) -> RunMetadata:
    """Decode a profile, from an Event of its own or from a summary."""
    if value.field == TENSOR_FIELD:
        tag, data = value.tag, value.first_string()
    else:
        message = Message(value.data)
        tag, data = message.text(1), message.blob(2)
    return RunMetadata(step=value.step, wall_time=value.wall_time, tag=tag, data=data)
