"""GPU memory as torch's allocator counts it."""

from __future__ import annotations

import importlib.util
import sys
from types import SimpleNamespace

import pytest
from record.telemetry.fake_sources import GIB, fake_torch

from pulseboard.record.telemetry import Sample
from pulseboard.record.telemetry.sources.torch_memory import METRICS as TORCH_METRICS
from pulseboard.record.telemetry.sources.torch_memory import TorchMemory


def test_torch_memory_is_that_of_the_fullest_gpu(monkeypatch):
    counts = {"allocated_current": 2 * GIB, "reserved_current": 3 * GIB, "allocated_peak": 4 * GIB}
    counts |= {"segment.all.current": 7, "inactive_split_bytes.all.current": GIB // 2, "num_alloc_retries": 1}
    empty = dict.fromkeys(counts, 0)
    monkeypatch.setitem(sys.modules, "torch", fake_torch(empty, counts))
    seen = TorchMemory("").sample(0.0).scalars
    assert seen == {
        "memory/vram_allocated_gb": 2.0,
        "memory/vram_reserved_gb": 3.0,
        "memory/vram_peak_gb": 4.0,
        "memory/vram_total_gb": 24.0,
        "memory/allocator_segments": 7.0,
        "memory/allocator_unused": 0.5,
        "memory/allocator_retries": 1.0,
    }
    assert seen.keys() == TORCH_METRICS.keys()


def test_the_peak_is_kept_when_the_training_resets_torchs_own(monkeypatch):
    counts = {"allocated_current": GIB, "reserved_current": GIB, "allocated_peak": 4 * GIB}
    monkeypatch.setitem(sys.modules, "torch", fake_torch(counts))
    source = TorchMemory("")
    source.sample(0.0)
    counts["allocated_peak"] = GIB
    assert source.sample(1.0).scalars["memory/vram_peak_gb"] == 4.0


def test_torch_is_never_imported_and_cuda_never_started(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    source = TorchMemory("")
    assert source.sample(0.0) == Sample()
    assert "torch" not in sys.modules
    monkeypatch.setitem(sys.modules, "torch", fake_torch({}, initialized=False))
    assert source.sample(1.0) == Sample()


def test_a_torch_that_is_being_imported_is_left_alone(monkeypatch):
    torch = fake_torch({})
    torch.__spec__ = SimpleNamespace(_initializing=True)
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert TorchMemory("").sample(0.0) == Sample()


@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="torch is not installed: tested on a stand-in only")
def test_the_real_torch_without_cuda_logs_nothing():
    import torch

    if torch.cuda.is_initialized():
        pytest.skip("CUDA runs in this process")
    assert TorchMemory("").sample(0.0) == Sample()
    assert not torch.cuda.is_initialized()
