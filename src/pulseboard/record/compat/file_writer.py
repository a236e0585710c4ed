"""One event file with the API of torch.utils.tensorboard.FileWriter, for code that uses it directly.

Lightning and many scripts pass TensorBoard's own messages to a SummaryWriter's file writer. We only need their
bytes, so this requires no protobuf library.
"""

from __future__ import annotations

import os
import time
from typing import Any

from pulseboard.core.plural import plural
from pulseboard.record.event_log.event_file_writer import EventFileWriter
from pulseboard.record.messages import warn
from pulseboard.tbformat import event


class FileWriter:
    """Writes events and summaries. Its owner must call `tick` about once per second."""

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        """Write to a new file in `log_dir`. The queue's settings exist for torch's sake and have no effect."""
        self._log_dir = os.fspath(log_dir)
        self._suffix = filename_suffix
        self._closed = False
        self.file = EventFileWriter(self._log_dir, suffix=filename_suffix)

    def get_logdir(self) -> str:
        """The directory of the file."""
        return self._log_dir

    def add_values(self, *values: bytes, step: Any = None, walltime: float | None = None) -> None:
        """Write one Event of encoded Summary.Values."""
        self.file.record(event.summary_event(*values, step=whole_step(step), wall_time=wall_time(walltime)))

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write one of TensorBoard's Event messages."""
        event.wall_time = wall_time(walltime)
        if step is not None:
            event.step = int(step)
        self.file.record(event.SerializeToString())

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Write one of TensorBoard's Summary messages, or its bytes."""
        encoded = summary if isinstance(summary, bytes) else summary.SerializeToString()
        step, wall = whole_step(global_step), wall_time(walltime)
        self.file.record(event.encoded_summary_event(encoded, step=step, wall_time=wall))

    def add_graph(self, graph_profile: Any, walltime: float | None = None) -> None:
        """Write a graph and its statistics, as torch.utils.tensorboard._pytorch_graph returns them."""
        graph, stats = graph_profile
        self.add_onnx_graph(graph, walltime)
        data, wall = stats.SerializeToString(), wall_time(walltime)
        self.file.record(event.run_metadata_event("step1", data=data, wall_time=wall))

    def add_onnx_graph(self, graph: Any, walltime: float | None = None) -> None:
        """Write a GraphDef message."""
        self.file.record(event.graph_event(graph.SerializeToString(), wall_time=wall_time(walltime)))

    def tick(self) -> None:
        """Maintain the file; see EventFileWriter.tick."""
        if not self._closed:
            self.file.tick()

    def flush(self) -> None:
        """Hand everything to the operating system."""
        self.tick()

    def close(self) -> None:
        """Write what waits, and close. Closing again does nothing."""
        if not self._closed:
            self._closed = True
            self.file.close()
            if lost := self.file.dropped_records:
                warn(f"{plural(lost, 'record')} not written: too large, or the disk was full. {self._log_dir}")

    def reopen(self) -> None:
        """After `close`, continue in a new file."""
        if self._closed:
            self.file = EventFileWriter(self._log_dir, suffix=self._suffix)
            self._closed = False


def whole_step(step: Any) -> int:
    """A step as an int, from a number or an array or tensor of one number; None is 0."""
    return 0 if step is None else int(step)


def wall_time(walltime: float | None) -> float:
    """A wall time in seconds since 1970; None is now."""
    return time.time() if walltime is None else float(walltime)
