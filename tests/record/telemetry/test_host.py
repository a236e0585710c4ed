"""The host's processors, memory, disks and network."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from record.fake_trackers import absent
from record.telemetry.fake_sources import GIB, on_linux

from pulseboard.core.errors import MissingPackage
from pulseboard.record.telemetry.counters import open_counters
from pulseboard.record.telemetry.proc import ProcCounters
from pulseboard.record.telemetry.psutil_counters import PsutilCounters
from pulseboard.record.telemetry.sources.host import METRICS as HOST_METRICS
from pulseboard.record.telemetry.sources.host import Host


def machine(root: Path, *, busy: int = 0, idle: int = 0) -> ProcCounters:
    """A machine of two disks, a network card and a training with two workers, as files in `root`."""
    pid = str(os.getpid())
    files = {
        "proc/stat": f"cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 2 3\n",
        "proc/meminfo": "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\nHugePages_Total: 0\n",
        "proc/self/statm": "900 50 3 1 0 9 0\n",
        f"proc/{pid}/task/{pid}/children": "7 8 ",
        f"proc/{pid}/task/9/children": "",
        "proc/7/task/7/children": "10 ",
        "proc/7/statm": "900 10 3 1 0 9 0\n",
        "proc/8/statm": "900 20 3 1 0 9 0\n",
        "proc/10/statm": "900 5 3 1 0 9 0\n",
        "proc/diskstats": "".join(
            f" 8 0 {name} 1 1 {read} 1 1 1 {written} 1 0 1 1\n"
            for name, read, written in (("sda", 8, 4), ("sda1", 8, 4), ("nvme0n1", 2, 1), ("dm-0", 8, 4))
        ),
        "sys/block/sda/device": "",
        "sys/block/nvme0n1/device": "",
        "sys/block/dm-0/size": "",
        "proc/net/dev": "Inter-| Receive\n face |bytes\n"
        + "".join(f" {name}: {got} 0 0 0 0 0 0 0 {sent} 0 0 0 0 0 0 0\n" for name, got, sent in _CARDS),
        "sys/class/net/eth0/device": "",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return ProcCounters(root)


_CARDS = (("lo", 900, 900), ("eth0", 70, 30), ("docker0", 5, 5))


@on_linux
def test_proc_counts_the_processors(tmp_path):
    ticks = os.sysconf("SC_CLK_TCK")
    assert machine(tmp_path, busy=3 * ticks, idle=5 * ticks).cpu_secs() == (3.0, 8.0)


@on_linux
def test_proc_counts_available_memory_as_free(tmp_path):
    assert machine(tmp_path).ram_bytes() == (1000 << 10, 600 << 10)


@on_linux
def test_proc_counts_the_process_and_its_descendants(tmp_path):
    page = os.sysconf("SC_PAGE_SIZE")
    counters = machine(tmp_path)
    assert counters.process_bytes() == 50 * page
    assert counters.children_bytes() == (10 + 20 + 5) * page


@on_linux
def test_a_kernel_that_does_not_list_children_leaves_out_their_tag(tmp_path, monkeypatch):
    machine(tmp_path)
    (tmp_path / f"proc/{os.getpid()}/task/{os.getpid()}/children").unlink()
    monkeypatch.setattr("pulseboard.record.telemetry.sources.host.open_counters", lambda: ProcCounters(tmp_path))
    assert "system/children_ram" not in Host(str(tmp_path)).sample(0.0).scalars


@on_linux
def test_proc_counts_a_disk_with_partitions_and_volumes_once(tmp_path):
    assert machine(tmp_path).disk_bytes() == (10 * 512, 5 * 512)


@on_linux
def test_proc_counts_network_cards_and_in_a_container_all_but_the_loopback(tmp_path):
    counters = machine(tmp_path)
    assert counters.network_bytes() == (70, 30)
    (tmp_path / "sys/class/net/eth0/device").unlink()
    assert counters.network_bytes() == (75, 35)


@on_linux
def test_a_child_of_this_process_is_counted():
    counters = ProcCounters()
    before = counters.children_bytes()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        try:
            until = time.monotonic() + 120
            while counters.children_bytes() <= before and time.monotonic() < until:
                time.sleep(0.01)
            assert counters.children_bytes() > before
        finally:
            child.kill()


@on_linux
@pytest.mark.skipif(not importlib.util.find_spec("psutil"), reason="psutil is not installed: nothing to compare with")
def test_proc_and_psutil_agree():
    ours, theirs = ProcCounters(), PsutilCounters()
    assert ours.ram_bytes()[0] == theirs.ram_bytes()[0]
    assert ours.ram_bytes()[1] == pytest.approx(theirs.ram_bytes()[1], rel=0.1)
    assert ours.process_bytes() == pytest.approx(theirs.process_bytes(), rel=0.05)
    assert ours.cpu_secs() == pytest.approx(theirs.cpu_secs(), rel=0.05)
    assert ours.disk_bytes() == pytest.approx(theirs.disk_bytes(), rel=0.05)
    assert ours.network_bytes() == pytest.approx(theirs.network_bytes(), rel=0.05)
    assert theirs.children_bytes() >= 0


def test_without_proc_and_psutil_the_extra_is_named(monkeypatch):
    with absent(monkeypatch, "psutil"), pytest.raises(MissingPackage, match=r"pulseboard\[telemetry\]"):
        open_counters("darwin")


@on_linux
def test_the_host_has_rates_from_the_second_sample_on(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "pulseboard.record.telemetry.sources.host.open_counters", lambda: machine(tmp_path, busy=100, idle=300)
    )
    host = Host(str(tmp_path))
    first = host.sample(100.0).scalars
    assert first["memory/ram_main_process_gb"] == 50 * os.sysconf("SC_PAGE_SIZE") / GIB
    assert first["system/ram_total"] == 1000 << 10
    assert not {"system/cpu", "system/disk_read"} & first.keys()
    machine(tmp_path, busy=175, idle=325)
    (tmp_path / "proc/diskstats").write_text(" 8 0 sda 1 1 100 1 1 1 4 1 0 1 1\n 8 0 nvme0n1 1 1 2 1 1 1 1 1 0 1 1\n")
    second = host.sample(102.0).scalars
    assert second["system/cpu"] == pytest.approx(75.0)
    assert second["system/disk_read"] == 92 * 512 / 2
    assert second["system/disk_write"] == 0.0
    assert second.keys() == HOST_METRICS.keys()


@on_linux
def test_a_missing_run_directory_leaves_out_only_the_disk(tmp_path):
    seen = Host(str(tmp_path / "none")).sample(0.0).scalars
    assert "system/disk_free" not in seen
    assert "system/ram_used" in seen
