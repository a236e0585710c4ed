"""One event file in the manner of torch.utils.tensorboard.FileWriter, for code that reaches for it.

Lightning and many scripts pass TensorBoard's own messages to a SummaryWriter's file writer. Messages are
only asked for their bytes, so no protobuf library is needed here.
"""

from __future__ import annotations

import os
import time
from typing import Any

from pulseboard.files import event
from pulseboard.record.event_file import EventFile
from pulseboard.record.report import say


class FileWriter:
    """Writes events and summaries. Whoever makes one calls `tick` about once a second."""

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        """Write to a new file in `log_dir`. The queue's settings are torch's: here each call writes, or nearly."""
        self._log_dir = os.fspath(log_dir)
        self._suffix = filename_suffix
        self._closed = False
        self.file = EventFile(self._log_dir, suffix=filename_suffix)

    def get_logdir(self) -> str:
        """The directory of the file."""
        return self._log_dir

    def add_values(self, *values: bytes, step: Any = None, walltime: float | None = None) -> None:
        """Write one Event of encoded Summary.Values."""
        self.file.record(event.summary_event(*values, step=whole_step(step), wall_time=wall_time(walltime)))

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write an Event message of TensorBoard's."""
        event.wall_time = wall_time(walltime)
        if step is not None:
            event.step = int(step)
        self.file.record(event.SerializeToString())

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Write a Summary message of TensorBoard's, or its bytes."""
        encoded = summary if isinstance(summary, bytes) else summary.SerializeToString()
        step, wall = whole_step(global_step), wall_time(walltime)
        self.file.record(event.encoded_summary_event(encoded, step=step, wall_time=wall))

    def add_graph(self, graph_profile: Any, walltime: float | None = None) -> None:
        """Write a graph and its statistics, as torch.utils.tensorboard._pytorch_graph makes them."""
        graph, stats = graph_profile
        self.add_onnx_graph(graph, walltime)
        data, wall = stats.SerializeToString(), wall_time(walltime)
        self.file.record(event.run_metadata_event("step1", data=data, wall_time=wall))

    def add_onnx_graph(self, graph: Any, walltime: float | None = None) -> None:
        """Write a GraphDef message."""
        self.file.record(event.graph_event(graph.SerializeToString(), wall_time=wall_time(walltime)))

    def tick(self) -> None:
        """Look after the file."""
        if not self._closed:
            self.file.tick()

    def flush(self) -> None:
        """Hand everything to the system."""
        self.tick()

    def close(self) -> None:
        """Write what waits, and close. Closing again does nothing."""
        if not self._closed:
            self._closed = True
            self.file.close()
            if lost := self.file.dropped_records:
                say(f"{lost} records were not written: too large, or the disk could not take them. {self._log_dir}")

    def reopen(self) -> None:
        """After `close`, go on in a new file."""
        if self._closed:
            self.file = EventFile(self._log_dir, suffix=self._suffix)
            self._closed = False


def whole_step(step: Any) -> int:
    """A step as users give it: None is 0, and an array or tensor of one number that number."""
    return 0 if step is None else int(step)


def wall_time(walltime: float | None) -> float:
    """Seconds since 1970; None is now."""
    return time.time() if walltime is None else float(walltime)
