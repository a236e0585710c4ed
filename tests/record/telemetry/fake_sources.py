"""A clock, sources that play samples, and a fake torch."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from pulseboard.record.telemetry import Sample, Source

GIB = 1 << 30

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


class Clock:
    """Time that passes only when a test moves it."""

    def __init__(self) -> None:
        self.now_secs = 1000.0

    def __call__(self) -> float:
        return self.now_secs


def tape(id: str, *samples: Sample | Exception) -> type[Source]:
    """A source that gives these samples, one after the other, and then raises."""

    class Tape(Source):
        def __init__(self, run_directory: str) -> None:
            self.rest = list(samples)

        def sample(self, now_secs: float) -> Sample:
            found = self.rest.pop(0) if self.rest else RuntimeError("the tape is over")
            if isinstance(found, Exception):
                raise found
            return found

    Tape.id = id
    return Tape


# ---------- torch's memory


def fake_torch(*counts: dict[str, int], initialized: bool = True, cuda: str | None = "12.4") -> ModuleType:
    """torch with a GPU for each of `counts`."""

    def memory_stats(index: int) -> dict[str, int]:
        assert initialized, "CUDA would have been started"
        short = {"allocated_current", "reserved_current", "allocated_peak"}
        return {n.replace("_", "_bytes.all.", 1) if n in short else n: count for n, count in counts[index].items()}

    def properties(index: int) -> SimpleNamespace:
        assert initialized, "CUDA would have been started"
        uuid = f"{index}1111111-2222-3333-4444-555555555555"
        return SimpleNamespace(uuid=uuid, multi_processor_count=132, L2_cache_size=50 << 20, total_memory=24 << 30)

    torch = ModuleType("torch")
    torch.version = SimpleNamespace(cuda=cuda)
    torch.cuda = SimpleNamespace(
        is_initialized=lambda: initialized,
        device_count=lambda: len(counts),
        memory_stats=memory_stats,
        get_device_properties=properties,
    )
    return torch
