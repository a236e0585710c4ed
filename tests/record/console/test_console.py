"""What the console prints, to pipes and terminals."""

from __future__ import annotations

import io
import math
import os
import pty
from typing import Any

import pytest
from record.console.console_records import EVAL, MOE, SOL, STEP, TWO_HOURS

from pulseboard.record.console.console import Console, LogVerbosity, fit, paint
from pulseboard.record.console.console import lines as lines

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


def test_verbosity_is_clamped_to_its_range() -> None:
    assert Console(verbosity=7).verbosity == LogVerbosity.VERBOSE
    assert Console(verbosity=-9).verbosity == LogVerbosity.SILENT
    assert (LogVerbosity.MINIMAL, LogVerbosity.DEFAULT, LogVerbosity.VERBOSE) == (-1, 0, 1)


def test_memory_is_shown_once_unless_verbose() -> None:
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


def test_a_fast_loop_prints_two_lines_per_second_and_every_spike() -> None:
    clock = Clock()
    stream = io.StringIO()
    console = Console(stream=stream, clock=clock)
    for step in range(100):
        console.show(scalars(step, norm=50.0 if step == 57 else 1.0))
        clock.now += 0.0625
    printed = [int(line.split()[2]) for line in stream.getvalue().splitlines()]
    assert printed == [0, 8, 16, 24, 32, 40, 48, 56, 57, 65, 73, 81, 89, 97]


def test_many_scalars_are_summarized_unless_verbose() -> None:
    record = scalars(1, **{f"m{n}": 1.0 for n in range(12)})
    assert shown(record)[0].endswith("| m7 1.0000 | and 4 more")
    assert shown(record, verbosity=1)[0].endswith("| m11 1.0000")


def test_telemetry_is_printed_if_verbose() -> None:
    record = scalars(1, system__cpu=50.0, memory__ram_main_process_gb=2.0)
    assert shown(record) == []
    assert shown(record, verbosity=1) == [":: step       1 | system/cpu 50.0000 | memory/ram_main_process_gb 2.0000"]


def test_a_name_cannot_send_commands_to_the_terminal() -> None:
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
def test_a_failing_stream_does_not_stop_training(
    error: Exception, asked: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """And one that nobody reads any more is not asked again."""
    stream = Closed(error)
    console = Console(stream=stream)
    for _ in range(3):
        console.show(STEP)
    assert stream.asked == asked
    assert capsys.readouterr().err == ""


def test_a_record_that_cannot_be_printed_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown({"log": "allocator", "stats": 7}, {"log": "allocator", "stats": 7}) == []
    assert capsys.readouterr().err.count("\n") == 1


def test_missing_standard_output_is_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    Console().show(STEP)


def test_characters_outside_the_encoding_are_escaped() -> None:
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
def test_a_narrow_terminal_gets_the_most_important_fields(width: int, fitted: str) -> None:
    line = lines.step_line(MOE, percent=12.5, trend="\\", sol=78.2, eta_secs=TWO_HOURS)
    assert fit(line, width) == fitted


def test_colors_mark_trend_warnings_and_evaluations() -> None:
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


def test_a_terminal_gets_colors_and_lines_of_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert in_terminal(EVAL).startswith("\x1b[1m>> eval ")
    assert "ms" not in in_terminal(EVAL, columns=75)
    assert "ms" in in_terminal(EVAL, columns=80)


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_without_color_gets_none(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert in_terminal(EVAL).startswith(">> eval ")
