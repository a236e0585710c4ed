"""What is known about the axis of a run, apart from the steps themselves."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

AxisKind = Literal["step", "epoch", "epoch x iteration", "row"]


# A tuple: data classes take longer to import than a small event file to read.
class AxisInfo(NamedTuple):
    """How the steps of a run were found."""

    kind: AxisKind
    columns: tuple[str, ...] = ()  # that the steps come from
    steps_per_epoch: float | None = None  # if both are known
    note: str = ""  # what a reader of the chart should know; empty if the log simply has steps

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "steps_per_epoch": self.steps_per_epoch,
            "note": self.note,
        }
