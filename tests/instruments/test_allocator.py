"""Memory is counted by owner, each piece once."""

import types

import pytest
import torch

from pulseboard.instruments.metrics import allocator as allocator_module
from pulseboard.instruments.metrics.allocator import allocator, segments


def pageable(model, optimizer=None):
    return {name: memory["pageable"] for name, memory in segments(model, optimizer).items()}


def trained():
    model = torch.nn.Linear(10, 5)  # 55 numbers, 220 bytes
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 10)).sum().backward()
    optimizer.step()
    return model, optimizer


def test_weights_gradients_and_optimizer_are_counted():
    found = pageable(*trained())
    assert found == {"weights": 220, "gradients": 220, "optimizer": 2 * 220 + 2 * 4}  # and AdamW's two step counts


def test_a_new_model_has_no_gradients_and_no_optimizer_state():
    model = torch.nn.BatchNorm1d(4)
    assert pageable(model) == {"weights": 4 * 4 * 4 + 8, "gradients": 0, "optimizer": 0}


def test_tied_weights_count_once():
    model = torch.nn.ModuleDict({"a": torch.nn.Linear(4, 4, bias=False), "b": torch.nn.Linear(4, 4, bias=False)})
    model["b"].weight = torch.nn.Parameter(model["a"].weight.detach())
    assert pageable(model)["weights"] == 64


def test_adapters_and_quantized_weights_are_counted_separately():
    model = torch.nn.Module()
    model.base = torch.nn.Linear(4, 4, bias=False)
    model.lora_A = torch.nn.Linear(4, 2, bias=False)
    packed = torch.nn.Parameter(torch.zeros(8, dtype=torch.uint8), requires_grad=False)
    packed.quant_state = types.SimpleNamespace(absmax=torch.zeros(2), blocksize=64)
    model.packed = packed
    assert pageable(model) == {"weights": 64, "lora": 32, "qlora": 16, "gradients": 0, "optimizer": 0}


def test_other_cuda_memory_counts_as_activations(monkeypatch):
    cuda = types.SimpleNamespace(device_count=lambda: 1, memory_allocated=lambda gpu: 1000, is_initialized=lambda: True)
    monkeypatch.setattr(allocator_module, "torch_with_cuda", lambda: types.SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(allocator_module, "_kind", lambda tensor: "device")
    found = segments(*trained())
    assert found["activations"]["device"] == 1000 - 220 - 220 - 448
    assert allocator(*trained())["allocator/weights_mib"] == pytest.approx(220 / 2**20)


def test_without_a_gpu_device_memory_is_zero():
    assert allocator(*trained()) == {
        "allocator/weights_mib": 0, "allocator/gradients_mib": 0, "allocator/optimizer_mib": 0,
    }  # fmt: skip


def test_models_without_memory_do_not_raise():
    assert pageable(torch.nn.Identity())["weights"] == 0
    with torch.device("meta"):
        model = torch.nn.Linear(3, 3)
    segments(model)


def test_the_json_log_accepts_the_segments():
    from pulseboard.rundir.json_log import allocator_record

    record = allocator_record(segments(*trained()), step=3, wall_time=0.0)
    assert record["stats"][0] == {"name": "weights", "device": 0, "managed": 0, "pinned": 0, "pageable": 220}
