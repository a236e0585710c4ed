"""Counters from Linux's /proc and /sys: no dependency, and cheaper than psutil."""

from __future__ import annotations

import os
from collections.abc import Iterator

# The unit of /proc/diskstats, whatever the disk's own sector size.
_SECTOR_BYTES = 512


class ProcCounters:
    """See `Counters`. Tests set `root` to a directory with a fake /proc and /sys."""

    def __init__(self, root: str | os.PathLike[str] = "/") -> None:
        self._proc = os.path.join(root, "proc")
        self._sys = os.path.join(root, "sys")
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        self._ticks_per_sec = os.sysconf("SC_CLK_TCK")
        # Kernels may be built without this file; most were before Linux 4.2.
        self._has_children_file = os.path.exists(f"{self._proc}/{os.getpid()}/task/{os.getpid()}/children")

    def cpu_secs(self) -> tuple[float, float]:
        """(busy, total); see `Counters`."""
        first_line, _, _ = self._read("stat").partition("\n")
        # user nice system idle iowait irq softirq steal; guest time, which follows, is included in user.
        user, nice, system, idle, iowait, irq, softirq, steal = map(int, first_line.split()[1:9])
        busy = user + nice + system + irq + softirq + steal
        return busy / self._ticks_per_sec, (busy + idle + iowait) / self._ticks_per_sec

    def ram_bytes(self) -> tuple[int, int]:
        """(total, used); see `Counters`."""
        lines = (line.split() for line in self._read("meminfo").splitlines())
        kib = {words[0].rstrip(":"): int(words[1]) for words in lines if len(words) > 1}
        return kib["MemTotal"] << 10, (kib["MemTotal"] - kib["MemAvailable"]) << 10

    def process_bytes(self) -> int:
        """Resident memory of this process."""
        return self._resident_bytes("self")

    def children_bytes(self) -> int | None:
        """Resident memory of all descendant processes. One that ends meanwhile counts as 0."""
        if not self._has_children_file:
            return None
        return sum(self._resident_bytes(pid) for pid in self._descendants(str(os.getpid())))

    def disk_bytes(self) -> tuple[int, int]:
        """(read, written) of whole disks: partitions and mapped volumes would be counted twice."""
        read = written = 0
        for line in self._read("diskstats").splitlines():
            words = line.split()
            if os.path.exists(f"{self._sys}/block/{words[2].replace('/', '!')}/device"):
                read += int(words[5]) * _SECTOR_BYTES
                written += int(words[9]) * _SECTOR_BYTES
        return read, written

    def network_bytes(self) -> tuple[int, int]:
        """(received, sent) of the cards; in a container, which has none, of all interfaces but the loopback."""
        lines = (line.partition(":") for line in self._read("net/dev").splitlines()[2:])
        interfaces = {name.strip(): numbers.split() for name, _, numbers in lines}
        interfaces.pop("lo", None)
        cards = [n for name, n in interfaces.items() if os.path.exists(f"{self._sys}/class/net/{name}/device")]
        counted = cards or list(interfaces.values())
        return sum(int(n[0]) for n in counted), sum(int(n[8]) for n in counted)

    def _read(self, name: str) -> str:
        # Unbuffered, since one sample may read some hundred files.
        with open(f"{self._proc}/{name}", "rb", buffering=0) as file:
            return file.read().decode("utf-8", "replace")

    def _resident_bytes(self, pid: str) -> int:
        try:
            return int(self._read(f"{pid}/statm").split()[1]) * self._page_bytes
        except (OSError, IndexError):
            return 0

    def _descendants(self, pid: str) -> Iterator[str]:
        for child in self._children(pid):
            yield child
            yield from self._descendants(child)

    def _children(self, pid: str) -> list[str]:
        # Per thread of ours: a training has some hundred threads, a shared machine many thousand processes.
        children = []
        for thread in _list_directory(f"{self._proc}/{pid}/task"):
            try:
                children += self._read(f"{pid}/task/{thread}/children").split()
            except OSError:
                pass  # the thread has ended
        return children


def _list_directory(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
