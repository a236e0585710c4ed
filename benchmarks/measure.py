"""Measuring: quiet moments, fresh processes, interleaved samples and their medians."""

from __future__ import annotations

import ast
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

HERE = Path(__file__).resolve().parent

Sample = dict[str, Any]

# A sample that other processes disturbed is taken anew at most this often, and only if it is a short one.
_RETAKES = 2
_SHORT_SECS = 10.0


class ReaderFailed(Exception):
    """A measured process failed, so that there is no figure to report."""


class WrongAnswer(Exception):
    """Readers disagree about a log: whatever their speed, one of them is wrong."""


@dataclass(slots=True)
class Quiet:
    """Waits for moments when other processes leave the machine alone, and remembers how well that went."""

    wait_secs: float  # at most, before each sample; 0: never wait, and keep every sample
    level: float  # cores that others may use
    budget_secs: float = 1200.0  # for all waits together: on a busy machine the benchmark must end all the same
    others: list[float] = field(default_factory=list)  # cores that others used during each sample kept

    def wait(self) -> None:
        """Return at a quiet moment, or when `wait_secs` are over."""
        end = time.monotonic() + min(self.wait_secs, self.budget_secs)
        while time.monotonic() < end:
            before = _busy_secs()
            time.sleep(0.5)
            if (_busy_secs() - before) / 0.5 < self.level:
                return
            self.budget_secs -= 0.5

    def take(self, measure: Callable[[], Sample]) -> Sample:
        """One sample, taken again where others used more than twice `level` meanwhile and waiting may help."""
        for attempt in range(_RETAKES + 1):
            self.wait()
            busy, began = _busy_secs(), time.perf_counter()
            own = time.process_time()
            sample = measure()
            wall_secs = time.perf_counter() - began
            used = sample["cpu_s"] + time.process_time() - own
            sample["other_cpu"] = max(0.0, _busy_secs() - busy - used) / wall_secs
            # Judged by what others did and never by the figure itself, or the choice would flatter it.
            disturbed = sample["other_cpu"] > 2 * self.level and wall_secs < _SHORT_SECS
            if not disturbed or not self.wait_secs or self.budget_secs <= 0 or attempt == _RETAKES:
                break
        self.others.append(sample["other_cpu"])
        return sample

    def told(self) -> str:
        """How quiet it was, for the report."""
        if not self.others:
            return "nothing else was watched for"
        median, worst = statistics.median(self.others), max(self.others)
        return f"other processes used {median:.2f} cores in the median sample, {worst:.2f} in the worst"


def _busy_secs() -> float:
    t = psutil.cpu_times()
    return t.user + getattr(t, "nice", 0) + t.system + getattr(t, "irq", 0) + getattr(t, "softirq", 0)


def interleaved(
    readers: Mapping[str, Callable[[], Sample]], *, repeat: Mapping[str, int], quiet: Quiet
) -> dict[str, list[Sample]]:
    """Samples of each reader, taken in turn, so that a slow minute of the machine meets all of them."""
    samples: dict[str, list[Sample]] = {name: [] for name in readers}
    for i in range(max(repeat.values(), default=0)):
        for name, measure in readers.items():
            if i < repeat[name]:
                samples[name].append(quiet.take(measure))
    return samples


def median(samples: list[Sample], key: str) -> float:
    """The median of one figure."""
    return statistics.median(sample[key] for sample in samples)


def run(command: list[str], *, cwd: Path | None = None) -> tuple[bytes, Sample]:
    """Run a program to its end: what it printed, its wall time and its CPU time."""
    before = _children_cpu_secs()
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd)
    said, complaint = process.communicate()
    wall_secs = time.perf_counter() - began
    if process.returncode:
        raise ReaderFailed(f"{Path(command[0]).name} ended with {process.returncode}: {complaint.decode()[-2000:]}")
    return said, {"process_s": wall_secs, "cpu_s": _children_cpu_secs() - before}


def _children_cpu_secs() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fresh(name: str, *arguments: str) -> Sample:
    """What function `name` of inside.py tells, called in a fresh Python process, and what the process took."""
    # By import and not as a script: Python keeps the compiled form of what is imported.
    command = [sys.executable, "-c", "import inside; inside.main()", name, *arguments]
    said, taken = run(command, cwd=HERE)
    return {**ast.literal_eval(said.decode().splitlines()[-1]), **taken}


def peak_rss_mb(process: psutil.Process) -> float:
    """The most memory a running process has had so far."""
    # Not ru_maxrss: on Linux that counts what the parent had before the child became another program.
    try:
        with open(f"/proc/{process.pid}/status", encoding="ascii", errors="replace") as stream:
            for line in stream:
                if line.startswith("VmHWM"):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    return float(process.memory_info().rss) / 2**20


def warm(path: Path) -> None:
    """Read every file below `path` once, so that all readers find it in the page cache."""
    for directory, _, names in os.walk(path):
        for name in names:
            with open(os.path.join(directory, name), "rb", buffering=0) as stream:
                while stream.read(1 << 20):
                    pass
