"""Operation counts match a real model, and peak rates are found by the name the driver reports."""

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from pulseboard.instruments.gpus import GPUS, known_gpu
from pulseboard.instruments.metrics.speed_of_light import ModelShape, flops, speed_of_light, speed_of_light_share

SMALL = ModelShape(layers=2, hidden=32, heads=4, kv_heads=2, vocab=50, seq_len=16, intermediate=64, causal=False)


def forward(shape, batch):
    """The matrix products of a model of this shape, one by one, in torch."""
    head = shape.hidden // shape.heads
    x = torch.zeros(batch, shape.seq_len, shape.hidden)
    for _ in range(shape.layers):
        q = (x @ torch.zeros(shape.hidden, shape.heads * head)).unflatten(-1, (shape.heads, head)).transpose(1, 2)
        k, v = (
            (x @ torch.zeros(shape.hidden, shape.kv_heads * head)).unflatten(-1, (shape.kv_heads, head)).transpose(1, 2)
            for _ in range(2)
        )
        k, v = (each.repeat_interleave(shape.heads // shape.kv_heads, dim=1) for each in (k, v))
        attended = (q @ k.transpose(-1, -2)) @ v
        x = attended.transpose(1, 2).flatten(-2) @ torch.zeros(shape.heads * head, shape.hidden)
        up = x @ torch.zeros(shape.hidden, shape.intermediate)
        if shape.gated:
            up = up * (x @ torch.zeros(shape.hidden, shape.intermediate))
        x = up @ torch.zeros(shape.intermediate, shape.hidden)
    return x @ torch.zeros(shape.hidden, shape.vocab)


@pytest.mark.parametrize("gated", [True, False])
def test_operations_match_torchs_own_count(gated):
    shape = ModelShape(
        layers=2, hidden=32, heads=4, kv_heads=2, vocab=50, seq_len=16, intermediate=64, causal=False, gated=gated
    )
    with FlopCounterMode(display=False) as counter:
        forward(shape, 3)
    assert flops(shape, tokens=3 * 16, training=False).total == counter.get_total_flops()


def test_training_is_three_times_forward_and_recomputing_adds_the_blocks_once_more():
    once, train, again = flops(SMALL, training=False), flops(SMALL), flops(SMALL, recompute=True)
    assert train.total == 3 * once.total
    assert (again.blocks, again.lm_head, again.attention) == (4 * once.blocks, 3 * once.lm_head, 4 * once.attention)


def test_gpt2_small_matches_a_count_by_hand():
    gpt2 = ModelShape(layers=12, hidden=768, heads=12, vocab=50257, seq_len=1024, intermediate=3072, gated=False)
    found = flops(gpt2)
    assert found.blocks == 6 * 12 * (4 * 768**2 + 2 * 768 * 3072)
    assert found.lm_head == 6 * 768 * 50257
    assert found.attention == 12 * 12 * 768 * 512


def test_only_active_experts_and_the_router_count():
    plain = {"layers": 1, "hidden": 8, "heads": 1, "vocab": 0, "seq_len": 0, "intermediate": 4}
    dense = flops(ModelShape(**plain), training=False).blocks
    sparse = flops(ModelShape(**plain, experts=16, active_experts=2), training=False).blocks
    assert sparse - dense == 2 * (3 * 8 * 4 + 8 * 16)


def test_tokens_per_second_are_the_peak_over_the_operations():
    found = speed_of_light(SMALL, gpu="NVIDIA H100 80GB HBM3", gpus=2)
    assert found["sol/tps"] == pytest.approx(2 * 989.4e12 / flops(SMALL).total)
    assert found["sol/bf16_peak"] == 989.4
    mixed = speed_of_light(SMALL, gpu="H100 SXM", dtype="fp8", lm_head_dtype="bf16", attention_dtype="bf16")
    work = flops(SMALL)
    secs = work.blocks / 1978.9e12 + (work.lm_head + work.attention) / 989.4e12
    assert mixed["sol/tps"] == pytest.approx(1 / secs)


def test_unknown_rates_are_left_out():
    assert speed_of_light(SMALL, gpu="Voodoo 2") == {}
    found = speed_of_light(SMALL, gpu="Tesla T4")
    assert "sol/tps" not in found
    assert "sol/bf16_peak" not in found
    assert speed_of_light(SMALL, gpu="Tesla T4", dtype="fp16")["sol/fp16_peak"] == 65
    with pytest.raises(ValueError, match="No peak rate for 'fp4'"):
        speed_of_light(SMALL, gpu="A100", dtype="fp4")


def test_an_empty_model_does_not_raise():
    empty = ModelShape(layers=0, hidden=0, heads=1, vocab=0, seq_len=0, intermediate=0)
    assert "sol/tps" not in speed_of_light(empty, gpu="A100")


def test_the_share_compares_with_the_measured_step_time():
    # 16384 tokens at 156,000 per second need 105 ms; the step took 156 ms.
    found = speed_of_light_share(step_tokens=16384, step_secs=0.156, tps=156_000)
    assert found["sol/percentage"] == pytest.approx(67.3, abs=0.05)
    assert math.isnan(speed_of_light_share(step_tokens=1, step_secs=0, tps=1)["sol/percentage"])


@pytest.mark.parametrize(
    ("driver", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA B200", "B200"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA A100 80GB PCIe", "A100"),
        ("NVIDIA A10", "A10"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA L40S", "L40S"),
        ("Tesla V100-SXM2-16GB", "V100"),
        ("Tesla V100-PCIE-16GB", "V100 PCIe"),
        ("Tesla T4", "T4"),
        ("NVIDIA GeForce RTX 3090", "RTX 3090"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA GeForce RTX 5090", "RTX 5090"),
    ],
)
def test_a_gpu_is_found_by_the_name_the_driver_reports(driver, name):
    assert known_gpu(driver).name == name
    assert known_gpu(name).name == name


@pytest.mark.parametrize(
    "driver",
    ["NVIDIA A10G", "NVIDIA L40", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 D",
     "NVIDIA GeForce RTX 3090 Ti", "NVIDIA H100 NVL", "NVIDIA T400", ""],
)  # fmt: skip
def test_a_gpu_with_a_similar_name_is_unknown(driver):
    assert known_gpu(driver) is None


def test_rates_double_from_tf32_to_sixteen_bits_to_eight():
    for gpu in GPUS:
        assert gpu.source
        for slow, fast in ((gpu.tf32, gpu.bf16), (gpu.fp16, gpu.fp8)):
            if slow and fast:
                assert fast / slow == pytest.approx(2, rel=0.03), gpu.name
