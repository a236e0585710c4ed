"""Log lines: an Event's log_message."""

from __future__ import annotations

from typing import Literal

from pulseboard.core.values import LogLine
from pulseboard.tbformat.stored_value import StoredValue
from pulseboard.tbformat.wire import Message

_LEVELS: dict[int, Literal["debug", "info", "warning", "error", "fatal"]] = {
    10: "debug",
    20: "info",
    30: "warning",
    40: "error",
    50: "fatal",
}


def decode_log_line(value: StoredValue) -> LogLine:
    """Decode a line of TensorFlow's log."""
    message = Message(value.data)
    return LogLine(
        step=value.step,
        wall_time=value.wall_time,
        level=_LEVELS.get(message.integer(1), "unknown"),
        message=message.text(2),
    )
