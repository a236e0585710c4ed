"""Records as lines: the documented ones, and how numbers are shown."""

from __future__ import annotations

import math

import pytest
from record.console.console_records import EVAL, MOE, SOL, STEP, TWO_HOURS

from pulseboard.record.console.console import lines as lines


def test_a_step_of_a_dense_model() -> None:
    assert lines.step_line(STEP, percent=12.5, trend="\\", sol=78.2, eta_secs=TWO_HOURS) == (
        r":: step     100 [ 12.5%] \ loss 2.3456 | norm  0.1234 | 125.3k tps |   156 ms | sol 78.2 | eta 02h15m"
    )


def test_a_step_of_a_mixture_of_experts() -> None:
    assert lines.step_line(MOE, percent=12.5, trend="\\", sol=78.2, eta_secs=TWO_HOURS) == (
        r":: step     100 [ 12.5%] \ loss 2.3456 | norm  0.1234 | 125.3k tps |   156 ms | aux 0.0234 | imbal 1.45"
        r" | sol 78.2 | eta 02h15m"
    )


def test_a_step_without_an_eta() -> None:
    assert lines.step_line(STEP, percent=12.5, trend="\\", sol=78.2) == (
        r":: step     100 [ 12.5%] \ loss 2.3456 | norm  0.1234 | 125.3k tps |   156 ms | sol 78.2"
    )


def test_an_evaluation() -> None:
    assert lines.eval_line(EVAL, gap=0.0123) == (
        ">> eval                      loss 2.1234 | gap +0.0123 | 145.2k tps |   234 ms"
    )


def test_the_speed_of_light() -> None:
    assert lines.sol_lines(SOL) == [
        "[Speed of Light]",
        "  Peak BF16:    989.5 TFLOP/s",
        "  Blocks:       123.4 GFLOP   in bf16",
        "  LM-Head:       45.6 GFLOP   in bf16",
        "  Attention:     78.9 GFLOP   in bf16",
        "  SOL:          156000 tok/s",
    ]


def test_each_data_type_in_use_has_its_peak() -> None:
    assert lines.sol_lines({**SOL, "blocks": 500_000_000, "tps": None}, dtypes=("fp8_e4m3", "bf16", "fp32")) == [
        "[Speed of Light]",
        "  Peak TF32:    494.7 TFLOP/s",
        "  Peak BF16:    989.5 TFLOP/s",
        "  Peak  FP8:   1979.0 TFLOP/s",
        "  Blocks:       500.0 MFLOP   in fp8_e4m3",
        "  LM-Head:       45.6 GFLOP   in bf16",
        "  Attention:     78.9 GFLOP   in fp32",
        "  SOL:       unavailable",
    ]


def test_a_spike_is_marked_before_the_norm() -> None:
    assert " | norm !0.1234 | " in lines.step_line(STEP, spike=True)


def test_columns_do_not_move() -> None:
    """Whatever is unknown, small, large or no number."""
    odd = [
        {**STEP, "loss": math.nan, "norm": math.inf},
        {**STEP, "loss": None, "norm": None, "step_tokens": None, "duration_ms": None},
        {**STEP, "step": 9999999, "step_tokens": 1, "duration_ms": 0},
        {**STEP, "loss": 12.3456 - 10, "step_tokens": 100},
    ]
    bars = [
        [at for at, char in enumerate(line) if char == "|"]
        for record in [STEP, *odd]
        for line in (lines.step_line(record), lines.step_line(record, percent=100, trend="/", spike=True))
    ]
    assert len(set(map(tuple, bars))) == 1


@pytest.mark.parametrize(
    ("secs", "text"), [(0, "00h00m"), (59.9, "00h00m"), (60, "00h01m"), (3600, "01h00m"), (360_000, "100h00m")]
)
def test_a_duration_is_shown_in_hours_and_minutes(secs: float, text: str) -> None:
    assert lines.clock_text(secs) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (12_345_678, "12.3M"), (1.2e9, "1.2B"), (3e15, "3000.0T"), (None, "-")],
)
def test_token_counts_are_shown_in_short(count: float | None, text: str) -> None:
    assert lines.short_count(count) == text
