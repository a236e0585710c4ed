"""Counters of the host and of this process, from whatever the system offers them in."""

from __future__ import annotations

import sys
from typing import Protocol


class Counters(Protocol):
    """What the host source asks for. Sizes in bytes, times in seconds."""

    def cpu_secs(self) -> tuple[float, float]:
        """(busy, altogether) of all processors, since the machine started. Waiting for a disk is not busy."""

    def ram_bytes(self) -> tuple[int, int]:
        """(total, used). What the system could give to a program at once does not count as used."""

    def process_bytes(self) -> int:
        """Resident memory of this process."""

    def children_bytes(self) -> int | None:
        """Resident memory of its children and theirs; None where it cannot be told. Shared pages count for each."""

    def disk_bytes(self) -> tuple[int, int]:
        """(read, written) by all disks since the machine started."""

    def network_bytes(self) -> tuple[int, int]:
        """(received, sent) by all network cards since the machine started."""


def open_counters(platform: str = sys.platform) -> Counters:
    """The counters of this machine: /proc on Linux, psutil elsewhere."""
    if platform == "linux":
        from pulseboard.record.telemetry.proc import ProcCounters

        return ProcCounters()
    from pulseboard.record.telemetry.psutil_counters import PsutilCounters

    return PsutilCounters()
