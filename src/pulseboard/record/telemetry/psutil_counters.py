"""Counters from psutil, for systems without /proc."""

from __future__ import annotations

from pulseboard.record.optional_import import load


class PsutilCounters:
    """See `Counters`."""

    def __init__(self) -> None:
        self._psutil = load("psutil", what="Host telemetry", package="psutil", extra="telemetry")
        self._process = self._psutil.Process()

    def cpu_secs(self) -> tuple[float, float]:
        """(busy, total); see `Counters`."""
        times = self._psutil.cpu_times()
        # Guest time is included in user.
        total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
        return total - times.idle - getattr(times, "iowait", 0.0), total

    def ram_bytes(self) -> tuple[int, int]:
        """(total, used); see `Counters`."""
        memory = self._psutil.virtual_memory()
        return memory.total, memory.total - memory.available

    def process_bytes(self) -> int:
        """Resident memory of this process."""
        return int(self._process.memory_info().rss)

    def children_bytes(self) -> int:
        """Resident memory of all descendant processes."""
        total = 0
        for child in self._process.children(recursive=True):
            try:
                total += child.memory_info().rss
            except self._psutil.Error:
                pass  # it ended meanwhile
        return total

    def disk_bytes(self) -> tuple[int, int]:
        """(read, written) by all disks; 0 if the system does not count."""
        disks = self._psutil.disk_io_counters()
        return (disks.read_bytes, disks.write_bytes) if disks else (0, 0)

    def network_bytes(self) -> tuple[int, int]:
        """(received, sent) by all interfaces but the loopback."""
        cards = [c for name, c in self._psutil.net_io_counters(pernic=True).items() if not name.startswith("lo")]
        return sum(c.bytes_recv for c in cards), sum(c.bytes_sent for c in cards)
