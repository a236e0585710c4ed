"""Counters through psutil, for systems without /proc."""

from __future__ import annotations

from pulseboard.record.optional import load


class PsutilCounters:
    """See `Counters`."""

    def __init__(self) -> None:
        self._psutil = load("psutil", what="Host telemetry", package="psutil", extra="telemetry")
        self._process = self._psutil.Process()

    def cpu_secs(self) -> tuple[float, float]:
        """(busy, altogether); see `Counters`."""
        times = self._psutil.cpu_times()
        # Guest time is in user already.
        everything = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
        return everything - times.idle - getattr(times, "iowait", 0.0), everything

    def ram_bytes(self) -> tuple[int, int]:
        """(total, used); see `Counters`."""
        memory = self._psutil.virtual_memory()
        return memory.total, memory.total - memory.available

    def process_bytes(self) -> int:
        """Resident memory of this process."""
        return int(self._process.memory_info().rss)

    def children_bytes(self) -> int:
        """Resident memory of its children and theirs."""
        found = 0
        for child in self._process.children(recursive=True):
            try:
                found += child.memory_info().rss
            except self._psutil.Error:
                pass  # it has ended meanwhile
        return found

    def disk_bytes(self) -> tuple[int, int]:
        """(read, written) by all disks; nothing where the system does not count."""
        disks = self._psutil.disk_io_counters()
        return (disks.read_bytes, disks.write_bytes) if disks else (0, 0)

    def network_bytes(self) -> tuple[int, int]:
        """(received, sent) by all interfaces but the loopback."""
        cards = [c for name, c in self._psutil.net_io_counters(pernic=True).items() if not name.startswith("lo")]
        return sum(c.bytes_recv for c in cards), sum(c.bytes_sent for c in cards)
