"""Counters of the host and of this process, from /proc or psutil."""

from __future__ import annotations

import sys
from typing import Protocol


class Counters(Protocol):
    """What the host source reads."""

    def cpu_secs(self) -> tuple[float, float]:
        """(busy, total) of all processors since boot. Waiting for a disk does not count as busy."""

    def ram_bytes(self) -> tuple[int, int]:
        """(total, used). Memory that is available to a program at once does not count as used."""

    def process_bytes(self) -> int:
        """Resident memory of this process."""

    def children_bytes(self) -> int | None:
        """Resident memory of all descendant processes; None if it cannot be read. Shared pages count for each."""

    def disk_bytes(self) -> tuple[int, int]:
        """(read, written) by all disks since boot."""

    def network_bytes(self) -> tuple[int, int]:
        """(received, sent) by all network cards since boot."""


def open_counters(platform: str = sys.platform) -> Counters:
    """The counters of this machine: /proc on Linux, psutil elsewhere."""
    if platform == "linux":
        from pulseboard.record.telemetry.proc import ProcCounters

        return ProcCounters()
    from pulseboard.record.telemetry.psutil_counters import PsutilCounters

    return PsutilCounters()
