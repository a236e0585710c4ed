"""Disk errors: records wait in memory, and what is lost is reported."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from record.json_array.arrays import REAL_PWRITE, Clock, line, steps

from pulseboard.record.json_array.json_file import JsonFile


def failing(code: int) -> Callable[..., int]:
    def fail(fd: int, data: Any, at: int) -> int:
        raise OSError(code, os.strerror(code))

    return fail


def test_a_full_disk_is_reported_once_and_waiting_records_are_written_later(
    open_file: Callable[..., JsonFile], path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    file = open_file(strict=False, clock=clock)
    file.append(line(0))
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", failing(errno.ENOSPC))
        for step in range(1, 10):
            file.append(line(step))
            clock.now += 0.5
    assert steps(path) == [0]
    stderr = capsys.readouterr().err
    assert stderr.count("\n") == 1
    assert "No space left on device" in stderr
    clock.now += 1
    file.append(line(10))
    assert steps(path) == list(range(11))
    assert "being written again" in capsys.readouterr().err


def test_a_failing_disk_is_retried_once_per_second(
    open_file: Callable[..., JsonFile], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    file = open_file(strict=False, clock=clock)
    asked = 0

    def fail(fd: int, data: Any, at: int) -> int:
        nonlocal asked
        asked += 1
        raise OSError(errno.EIO, "")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", fail)
        for step in range(100):
            file.append(line(step))
        assert asked == 1
        clock.now += 1.1
        file.append(line(100))
        assert asked == 2


def test_records_that_do_not_fit_in_memory_are_counted_and_reported(
    open_file: Callable[..., JsonFile], path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    file = open_file(strict=False, clock=clock, max_waiting_bytes=1000)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", failing(errno.EIO))
        for step in range(10):
            file.append(line(step, size=200))
    assert file.dropped_records == 5
    clock.now += 2
    file.tick()
    assert steps(path) == [0, 1, 2, 3, 4]
    assert "Lost 5 records, which did not fit" in capsys.readouterr().err


def test_records_that_are_lost_on_close_are_reported(
    open_file: Callable[..., JsonFile], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = open_file(strict=False)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", failing(errno.EIO))
        file.append(line(0))
        file.close()
    assert "Lost 1 record of the JSON log, which could not be written" in capsys.readouterr().err


def test_half_a_write_is_undone(
    open_file: Callable[..., JsonFile], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    file = open_file(strict=False, clock=clock)
    file.append(line(0))

    def half(fd: int, data: bytes, at: int) -> int:
        return REAL_PWRITE(fd, data[:50], at)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", half)
        file.append(line(1))
    assert steps(path) == [0]
    clock.now += 2
    file.tick()
    assert steps(path) == [0, 1]


def test_creating_a_directory_is_retried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    (tmp_path / "output").write_text("in the way")
    file = JsonFile(tmp_path / "output" / "training.json", clock=clock)
    file.append(line(0))
    (tmp_path / "output").unlink()
    clock.now += 2
    file.append(line(1))
    assert steps(tmp_path / "output" / "training.json") == [0, 1]
    file.close()
    assert capsys.readouterr().err.count("Cannot write the JSON log") == 1


def test_strict_raises(open_file: Callable[..., JsonFile], monkeypatch: pytest.MonkeyPatch) -> None:
    file = open_file()
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", failing(errno.EIO))
        with pytest.raises(OSError, match="Input/output"):
            file.append(line(0))
