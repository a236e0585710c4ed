"""What locates a logged value: its tag, its step and its wall time."""

from __future__ import annotations

from typing import TypeAlias

Tag: TypeAlias = str
"""The name a value was logged under, such as `train/loss`. Any text; within a run it names one series."""

Step: TypeAlias = int
"""The training step: a whole number that fits into 64 bits. Within a series, steps may repeat or fall."""

WallTime: TypeAlias = float
"""Seconds since 1970 (UTC). NaN where the log does not have a time."""
