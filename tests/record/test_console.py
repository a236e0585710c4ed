"""The console: exact lines, both sides of each rule, and whole trainings against golden files."""

from __future__ import annotations

import io
import math
import os
import pty
from pathlib import Path
from typing import Any

import pytest

from pulseboard.files import json_log
from pulseboard.record import console_lines as lines
from pulseboard.record.console import Console, LogVerbosity, fit, paint
from pulseboard.record.progress import Progress
from pulseboard.record.sink import RunInfo, sink_class

GOLDEN = Path(__file__).parents[1] / "golden"

STEP = {
    "log": "step", "time": "2026-01-15T10:30:00.123456", "step": 100, "epoch": 1.25, "step_tokens": 19547,
    "duration_ms": 156, "norm": 0.1234, "loss": 2.3456, "lr": 0.0002,
}  # fmt: skip
MOE = {**STEP, "moe_aux_loss": 0.0234, "moe_z_loss": 0.0012, "moe_load_imbalance": 1.45}
EVAL = {"log": "eval", "step": 500, "epoch": 1.5, "eval_tokens": 33977, "duration_ms": 234, "loss": 2.1234}
SOL = {
    "log": "sol", "step": 0, "blocks": 123_400_000_000, "lm_head": 45_600_000_000, "attention": 78_900_000_000,
    "tps": 156000, "tf32_peak": 494.7, "bf16_peak": 989.5, "fp16_peak": 989.5, "fp8_peak": 1979.0,
}  # fmt: skip
TWO_HOURS = 2 * 3600 + 15 * 60 + 59


def compare(text: str, name: str) -> None:
    """As the golden fixture of the CLI's tests does: `make golden` writes the files anew."""
    path = GOLDEN / name
    if os.environ.get("PULSEBOARD_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "if the change is meant, run `make golden` and read the diff"


# ---------- the documented lines


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


def test_columns_stay_where_they_are() -> None:
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
def test_a_span_of_time_is_in_hours_and_minutes(secs: float, text: str) -> None:
    assert lines.clock_text(secs) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (12_345_678, "12.3M"), (1.2e9, "1.2B"), (3e15, "3000.0T"), (None, "-")],
)
def test_tokens_are_counted_shortly(count: float | None, text: str) -> None:
    assert lines.short_count(count) == text


# ---------- what lines compare with


def test_the_first_loss_has_no_trend() -> None:
    assert Progress().loss(2.0) == " "


@pytest.mark.parametrize(("value", "sign"), [(1.99, "\\"), (2.0, " "), (2.01, "/")])
def test_the_trend_is_against_the_average_before(value: float, sign: str) -> None:
    progress = Progress()
    for loss in (9.0, 1.0, 3.0, 2.0, 1.5, 2.5):  # the average of the last five is 2
        progress.loss(loss)
    assert progress.loss(value) == sign


def test_a_loss_that_is_no_number_leaves_the_trend_alone() -> None:
    progress = Progress()
    assert [progress.loss(loss) for loss in (2.0, math.nan, None, math.inf, 1.0)] == [" ", " ", " ", " ", "\\"]


def spikes(*norms: float) -> list[bool]:
    progress = Progress()
    return [progress.norm(norm) for norm in norms]


@pytest.mark.parametrize(("last", "marked"), [(4.9, False), (5.0, False), (5.1, True)])
@pytest.mark.parametrize("before", [3, 10, 500])
def test_a_norm_above_five_times_its_average_is_a_spike(before: int, last: float, marked: bool) -> None:
    assert spikes(*[1.0] * before, last) == [False] * before + [marked]


def test_the_first_norms_are_no_spikes() -> None:
    assert spikes(0.1, 100.0, 1.0) == [False, False, False]


def test_a_spike_does_not_hide_the_next() -> None:
    assert spikes(*[1.0] * 20, 1000.0, 1.0, 1000.0)[-3:] == [True, False, True]


def test_a_new_level_becomes_usual() -> None:
    assert not spikes(*[1.0] * 20, *[10.0] * 20)[-1]


def test_a_norm_that_is_no_number_is_marked_and_not_averaged() -> None:
    assert spikes(*[1.0] * 5, math.nan, math.inf, 4.9, 5.1) == [*[False] * 5, True, True, False, False]
    assert spikes(*[1.0] * 5, math.nan, 5.1) == [*[False] * 5, True, True]


def test_the_gap_is_to_the_average_since_the_last_evaluation() -> None:
    progress = Progress()
    assert progress.gap(2.0) is None
    for loss in (3.0, math.nan, 1.0):
        progress.loss(loss)
    assert progress.gap(2.5) == 0.5
    assert progress.gap(2.25) == 0.25  # no step since: the same average
    progress.loss(1.0)
    assert progress.gap(0.5) == -0.5


def test_with_the_number_of_steps_progress_is_that_of_the_run() -> None:
    progress = Progress(total_steps=800)
    assert progress.step(100, epoch=0.9, duration_ms=1000) == (12.5, 700.0)
    assert progress.step(800, epoch=1.0, duration_ms=1000) == (100.0, 0.0)
    assert progress.step(900, epoch=1.1, duration_ms=1000) == (100.0, 0.0)


def test_without_it_progress_is_that_of_the_epoch() -> None:
    progress = Progress()
    percent, eta_secs = progress.step(100, epoch=1.25, duration_ms=1000)
    assert percent == 25.0
    assert eta_secs == pytest.approx(60.0)  # 0.75 epochs at 80 steps an epoch
    percent, eta_secs = progress.step(110, epoch=1.5, duration_ms=2000)
    assert percent == 50.0
    assert eta_secs == pytest.approx(0.5 * 40 * 1.5)  # ten steps took a quarter, at 1.5 s on average


@pytest.mark.parametrize("epoch", [None, math.nan, -1.0])
def test_without_an_epoch_nothing_is_known(epoch: float | None) -> None:
    assert Progress().step(100, epoch=epoch, duration_ms=1000) == (None, None)


def test_the_first_step_has_no_eta_without_a_rate() -> None:
    assert Progress().step(0, epoch=0.0, duration_ms=1000) == (0.0, None)


def test_steps_of_unknown_duration_are_timed() -> None:
    progress = Progress(total_steps=100)
    assert progress.step_at(10, now_secs=50.0) == (10.0, None)
    assert progress.step_at(20, now_secs=55.0) == (20.0, 40.0)
    assert progress.step_at(10, now_secs=56.0) == (10.0, None)
    assert Progress().step_at(10, now_secs=0.0) == (None, None)


# ---------- printing


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def shown(*records: dict[str, Any], **options: Any) -> list[str]:
    stream = io.StringIO()
    console = Console(stream=stream, **options)
    for record in records:
        console.show(record)
    return stream.getvalue().splitlines()


def test_sol_is_theoretical_time_over_actual_time() -> None:
    """16384 tokens at 156000 a second take 105 ms; 134.3 ms would be 78.2 %."""
    steps = shown({**SOL, "tps": 156000}, {**STEP, "step_tokens": 16384, "duration_ms": 134})
    assert "| sol 78.4 |" in steps[-1]
    assert "sol" not in shown(STEP)[0]
    assert "sol" not in shown({**SOL, "tps": None}, STEP)[-1]


@pytest.mark.parametrize(
    ("verbosity", "kinds"),
    [
        (-2, []),
        (-1, [">> eval"]),
        (0, [":: step", ">> eval", "[Speed of Light]", "[Dataset]", "[GPU 0]", "[Memory in MiB]"]),
        (
            1,
            [
                ":: step",
                ">> eval",
                "[Speed of Light]",
                "[Dataset]",
                "[GPU 0]",
                "[Memory in MiB]",
                ":: gpu",
                "  at file",
            ],
        ),
    ],
)
def test_each_verbosity_prints_its_kinds(verbosity: int, kinds: list[str]) -> None:
    records: list[dict[str, Any]] = [
        STEP, EVAL, SOL, {"log": "dataset", "split": "train"}, {"log": "gpu-model", "id": 0}, {"log": "gpu", "id": 0},
        {"log": "allocator", "stats": []}, {"log": "moe"}, {"log": "of another version"},
    ]  # fmt: skip
    text = "\n".join(["", *shown(*records, verbosity=verbosity)])
    every = [
        ":: step", ">> eval", "[Speed of Light]", "[Dataset]", "[GPU 0]", "[Memory in MiB]", ":: gpu", "  at file",
    ]  # fmt: skip
    assert [kind for kind in every if "\n" + kind in text] == kinds


def test_verbosity_beyond_its_ends_is_the_end() -> None:
    assert Console(verbosity=7).verbosity == LogVerbosity.VERBOSE
    assert Console(verbosity=-9).verbosity == LogVerbosity.SILENT
    assert (LogVerbosity.MINIMAL, LogVerbosity.DEFAULT, LogVerbosity.VERBOSE) == (-1, 0, 1)


def test_memory_is_shown_once_unless_more_is_asked_for() -> None:
    record = {"log": "allocator", "stats": [{"name": "weights", "device": 1 << 30}]}
    assert len(shown(record, record)) == 3
    assert len(shown(record, record, verbosity=1)) == 6


def scalars(step: int, **values: float) -> dict[str, Any]:
    return {"log": "scalars", "step": step, "values": {name.replace("__", "/"): v for name, v in values.items()}}


def test_scalars_are_printed_as_a_step() -> None:
    assert shown(scalars(100, lr=2e-4, train__loss=2.3456, grad_norm=0.1234, acc=0.5, tokens=1e6)) == [
        ":: step     100   train/loss 2.3456 | grad_norm  0.1234 | lr 0.0002 | acc 0.5000 | tokens 1000000"
    ]
    assert shown(scalars(7, val__loss=math.nan)) == [":: step       7 | val/loss nan"]


def test_scalars_have_trend_spike_percentage_and_eta() -> None:
    clock = Clock()
    stream = io.StringIO()
    console = Console(stream=stream, clock=clock, total_steps=20)
    for step in range(5):
        console.show(scalars(step, loss=2.0 - step / 10, norm=1.0))
        clock.now += 60.0
    console.show(scalars(5, loss=9.0, norm=6.0))
    assert stream.getvalue().splitlines()[-2:] == [
        r":: step       4 [ 20.0%] \ loss 1.6000 | norm  1.0000 | eta 00h16m",
        ":: step       5 [ 25.0%] / loss 9.0000 | norm !6.0000 | eta 00h15m",
    ]


def test_a_fast_loop_prints_two_lines_a_second_and_every_spike() -> None:
    clock = Clock()
    stream = io.StringIO()
    console = Console(stream=stream, clock=clock)
    for step in range(100):
        console.show(scalars(step, norm=50.0 if step == 57 else 1.0))
        clock.now += 0.0625
    printed = [int(line.split()[2]) for line in stream.getvalue().splitlines()]
    assert printed == [0, 8, 16, 24, 32, 40, 48, 56, 57, 65, 73, 81, 89, 97]


def test_many_scalars_are_counted_unless_all_are_asked_for() -> None:
    record = scalars(1, **{f"m{n}": 1.0 for n in range(12)})
    assert shown(record)[0].endswith("| m7 1.0000 | and 4 more")
    assert shown(record, verbosity=1)[0].endswith("| m11 1.0000")


def test_telemetry_is_printed_when_asked_for() -> None:
    record = scalars(1, system__cpu=50.0, memory__ram_main_process_gb=2.0)
    assert shown(record) == []
    assert shown(record, verbosity=1) == [":: step       1 | system/cpu 50.0000 | memory/ram_main_process_gb 2.0000"]


def test_a_name_cannot_command_the_terminal() -> None:
    assert shown(scalars(1, **{"a\x1b[2J\nb": 1.0})) == [":: step       1 | a?[2J?b 1.0000"]


class Closed(io.StringIO):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error, self.asked = error, 0

    def write(self, text: str) -> int:
        self.asked += 1
        raise self.error


@pytest.mark.parametrize(
    ("error", "asked"), [(BrokenPipeError(), 1), (BlockingIOError(), 3), (ValueError("closed"), 3), (OSError(), 3)]
)
def test_a_stream_that_fails_stops_nothing(error: Exception, asked: int, capsys: pytest.CaptureFixture[str]) -> None:
    """And one that nobody reads any more is not asked again."""
    stream = Closed(error)
    console = Console(stream=stream)
    for _ in range(3):
        console.show(STEP)
    assert stream.asked == asked
    assert capsys.readouterr().err == ""


def test_a_record_that_cannot_be_printed_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown({"log": "allocator", "stats": 7}, {"log": "allocator", "stats": 7}) == []
    assert capsys.readouterr().err.count("\n") == 1


def test_no_standard_output_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    Console().show(STEP)


def test_a_narrow_encoding_gets_escapes() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Console(stream=stream).show(scalars(1, größe=1.0))
    assert raw.getvalue() == b":: step       1 | gr\\xf6\\xdfe 1.0000\n"


# ---------- a terminal


@pytest.mark.parametrize(
    ("width", "fitted"),
    [
        (130, r":: step     100 [ 12.5%] \ loss 2.3456 | norm  0.1234 | 125.3k tps |   156 ms | aux 0.0234 | imbal 1.45"
              r" | sol 78.2 | eta 02h15m"),
        (119, r":: step     100 [ 12.5%] \ loss 2.3456 | norm  0.1234 | 125.3k tps | aux 0.0234 | imbal 1.45"
              r" | sol 78.2 | eta 02h15m"),
        (80, r":: step     100 [ 12.5%] \ loss 2.3456 | norm  0.1234 | sol 78.2 | eta 02h15m"),
        (60, r":: step     100 [ 12.5%] \ loss 2.3456 | norm  0.1234"),
        (40, r":: step     100 [ 12.5%] \ loss 2.345..."),
        (2, ".."),
        (0, ""),
    ],
)  # fmt: skip
def test_a_narrow_terminal_gets_what_matters_most(width: int, fitted: str) -> None:
    line = lines.step_line(MOE, percent=12.5, trend="\\", sol=78.2, eta_secs=TWO_HOURS)
    assert fit(line, width) == fitted


def test_colours_mark_trend_alarms_and_evaluations() -> None:
    assert paint(":: step 1 \\ loss 1.0 | norm  1.0") == ":: step 1 \x1b[32m\\\x1b[0m loss 1.0 | norm  1.0"
    assert paint(":: step 1 / loss 1.0") == ":: step 1 \x1b[33m/\x1b[0m loss 1.0"
    assert (
        paint(":: step 1   loss 1.0 | norm !9.0 | 1 ms") == ":: step 1   loss 1.0 | \x1b[31;1mnorm !9.0\x1b[0m | 1 ms"
    )
    assert paint(":: step 1   loss    nan | x") == ":: step 1   loss \x1b[31;1m   nan\x1b[0m | x"
    assert paint(">> eval loss 1.0") == "\x1b[1m>> eval loss 1.0\x1b[0m"
    assert paint("plain") == "plain"


def in_terminal(record: dict[str, Any], *, columns: int = 200) -> str:
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    try:
        with open(theirs, "w", encoding="utf-8") as stream:
            Console(stream=stream).show(record)
            return os.read(ours, 4096).decode()
    finally:
        os.close(ours)


def test_a_terminal_gets_colour_and_lines_of_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert in_terminal(EVAL).startswith("\x1b[1m>> eval ")
    assert "ms" not in in_terminal(EVAL, columns=75)
    assert "ms" in in_terminal(EVAL, columns=80)


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_that_wants_no_colour_gets_none(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert in_terminal(EVAL).startswith(">> eval ")


# ---------- a whole training


def training() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The records of a short training, with what the console is told besides."""

    def made(kind: str, step: int = 0, **values: Any) -> dict[str, Any]:
        return json_log.make_record(kind, values, step=step, wall_time=1_770_000_000.0)

    gpu = {
        "clock": 1800, "max_clock": 2100, "fan": 65, "power": 350000, "power_limit": 400000, "temperature": 72,
        "temp_slowdown": 83, "gpu_util": 98, "mem_util": 85, "dram_free": 8589934592, "pcie_rx": 1073741824,
        "pcie_tx": 536870912,
    }  # fmt: skip
    model = {
        "name": "NVIDIA H100 80GB HBM3", "sm_count": 132, "major": 9, "minor": 0, "memory": 85520809984,
        "free": 84987740160, "l2_size": 52428800, "uuid": "GPU-5a1c", "ecc": True, "cuda_driver": 12040,
        "cuda_runtime": 12040,
    }  # fmt: skip
    memory = {"weights": (4294967296, 0, 0, 0), "optimizer": (2147483648, 0, 8589934592, 0), "lora": 0}
    files = [("shards/000.bin", 700_000_000), ("shards/001.bin", 500_000_000)]
    said: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (made("gpu-model", id=0, **model), {}),
        (made("dataset", split="train", files=2, tokens=1_200_000_000, seed=42), {"files": files}),
        (made("dataset", split="eval", files=1, tokens=950, file_index=0, chunk_index=3, seed=7), {}),
        (json_log.allocator_record(memory, step=0, wall_time=0.0), {}),
        ({**SOL, "time": ""}, {}),
    ]
    losses = [3.2, 2.9, 2.7, 2.75, 2.5, 2.4, math.nan, 2.3, 2.2, 2.1]
    norms = [0.9, 0.8, 0.7, 0.75, 0.7, 4.9, math.nan, 0.7, 0.7, 0.65]
    for n, (loss, norm) in enumerate(zip(losses, norms, strict=True)):
        step, epoch = 1000 * n, n / 8
        values: dict[str, Any] = {
            "epoch": epoch,
            "step_tokens": 16384,
            "duration_ms": 130 + n,
            "loss": loss,
            "norm": norm,
        }
        record = made("step", step, lr=2e-4, **values)
        if n >= 6:
            record |= {"moe_aux_loss": 0.0234, "moe_z_loss": 0.0012, "moe_load_imbalance": 1.45}
        said.append((record, {}))
        if n % 4 == 3:
            throttle = "" if n == 3 else "thermal"
            said.append((made("gpu", step, id=0, throttle=throttle, **gpu), {}))
            said.append((made("eval", step, epoch=epoch, eval_tokens=33977, duration_ms=234, loss=2.8), {}))
    return said


@pytest.mark.parametrize(
    ("verbosity", "total_steps", "name"),
    [
        (LogVerbosity.MINIMAL, None, "console_minimal.txt"),
        (LogVerbosity.DEFAULT, None, "console_default.txt"),
        (LogVerbosity.DEFAULT, 100_000, "console_with_total_steps.txt"),
        (LogVerbosity.VERBOSE, None, "console_verbose.txt"),
    ],
)
def test_a_whole_training_reads_as_it_should(verbosity: LogVerbosity, total_steps: int | None, name: str) -> None:
    stream = io.StringIO()
    console = Console(stream=stream, verbosity=verbosity, total_steps=total_steps)
    for record, details in training():
        console.show(record, **details)
    compare(stream.getvalue(), name)


# ---------- the sink


def test_the_sink_prints_scalars_and_records(capsys: pytest.CaptureFixture[str]) -> None:
    sink = sink_class("console")(RunInfo("a", ".", {"max_steps": 1000}, settings={"verbosity": 0}))
    sink.scalars({"train/loss": 2.3456}, step=100, wall_time=0.0)
    sink.record(EVAL)
    sink.close(status="finished")
    assert capsys.readouterr().out.splitlines() == [
        ":: step     100 [ 10.0%]   train/loss 2.3456",
        ">> eval                      loss 2.1234 | gap -0.2222 | 145.2k tps |   234 ms",
    ]


def test_the_sink_is_as_quiet_as_it_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    sink = sink_class("console")(RunInfo("a", ".", settings={"verbosity": -1}))
    sink.scalars({"train/loss": 2.3456}, step=100, wall_time=0.0)
    sink.record(STEP)
    assert capsys.readouterr().out == ""
