"""The JSON array on disk is valid at every moment, and its room grows ahead of need."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from record.json_array.arrays import REAL_PWRITE, Clock, line, read, steps

from pulseboard.record.json_array import file_operations, padded_array
from pulseboard.record.json_array.json_file import JsonFile
from pulseboard.record.json_array.padded_array import PAGE_BYTES

# ---------- an array, always


def test_a_new_file_is_an_empty_array(open_file: Callable[..., JsonFile], path: Path) -> None:
    open_file()
    assert read(path) == []


def test_every_record_is_in_the_file_when_append_returns(open_file: Callable[..., JsonFile], path: Path) -> None:
    file = open_file()
    for step in range(50):
        file.append(line(step))
        assert steps(path) == list(range(step + 1))


def test_closing_removes_the_spaces(open_file: Callable[..., JsonFile], path: Path) -> None:
    file = open_file()
    file.append('{"step": 1}')
    file.append('{"step": 2}')
    file.close()
    assert path.read_text() == '[\n{"step": 1},\n{"step": 2}\n]\n'
    assert os.listdir(path.parent) == ["training.json"]


@pytest.mark.parametrize("size", [60, 180, 1000, 4094, 4095, 9000])
def test_the_array_is_valid_between_any_two_pages_of_a_write(
    size: int, open_file: Callable[..., JsonFile], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a kill can leave: every state between two pages, for records that share a page and that fill more."""
    states = 0

    def page_by_page(fd: int, data: Any, at: int) -> int:
        nonlocal states
        view = memoryview(data)
        done = 0
        while done < len(view):
            piece = view[done : done + PAGE_BYTES - (at + done) % PAGE_BYTES]
            done += REAL_PWRITE(fd, piece, at + done)
            if path.exists():
                read(path)
                states += 1
        return done

    monkeypatch.setattr(os, "pwrite", page_by_page)
    file = open_file()
    count = max(3, min(150, 200_000 // size))
    for step in range(count):
        file.append(line(step, size=size))
        if step % 40 == 0:
            file.tick()
    file.close()
    assert states > count
    assert steps(path) == list(range(count))


def test_a_record_that_fits_its_page_stays_in_it(open_file: Callable[..., JsonFile], path: Path) -> None:
    """The first record begins at byte 2, and the next needs a comma and a line break."""
    file = open_file()
    file.append(line(0, size=2000))
    file.append(line(1, size=PAGE_BYTES - 2 - 2000 - 2))
    assert path.read_bytes()[PAGE_BYTES - 1 : PAGE_BYTES + 1] == b"} "


def test_a_record_that_would_cross_a_page_starts_the_next(open_file: Callable[..., JsonFile], path: Path) -> None:
    file = open_file()
    file.append(line(0, size=2000))
    file.append(line(1, size=PAGE_BYTES - 2 - 2000 - 1))
    assert path.read_bytes()[PAGE_BYTES : PAGE_BYTES + 3] == b",\n{"
    assert steps(path) == [0, 1]


def test_a_long_record_in_a_long_file_is_written_in_place(
    open_file: Callable[..., JsonFile], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(padded_array, "_MAX_COPIED_BYTES", 1000)
    file = open_file()
    for step in range(20):
        file.append(line(step, size=9000))
    assert steps(path) == list(range(20))


def test_threads_may_log_at_once_while_room_is_made(open_file: Callable[..., JsonFile], path: Path) -> None:
    file = open_file()
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            file.tick()

    def log(first: int) -> None:
        for step in range(first, first + 1000):
            file.append(line(step))

    threads = [threading.Thread(target=log, args=(1000 * n,)) for n in range(4)]
    ticking = threading.Thread(target=tick)
    for thread in [ticking, *threads]:
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    ticking.join()
    assert sorted(steps(path)) == list(range(4000))
    for n in range(4):
        assert [step for step in steps(path) if step // 1000 == n] == list(range(1000 * n, 1000 * n + 1000))


def test_a_record_logged_during_a_write_follows_it(
    open_file: Callable[..., JsonFile], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a signal handler does."""
    file = open_file()

    def interrupted(fd: int, data: Any, at: int) -> int:
        monkeypatch.undo()
        file.append(line(2))
        return REAL_PWRITE(fd, data, at)

    monkeypatch.setattr(os, "pwrite", interrupted)
    file.append(line(1))
    assert steps(path) == [1, 2]


# ---------- room


def test_tick_makes_room_ahead_of_need(open_file: Callable[..., JsonFile], path: Path) -> None:
    file = open_file()
    inode = path.stat().st_ino
    file.append(line(0))
    file.tick()
    assert path.stat().st_ino == inode
    low: list[int] = []
    file.when_low = lambda: low.append(step)
    for step in range(1, 500):
        file.append(line(step))
    assert len(low) == 1
    assert 300 < low[0] < 400  # half of 128 KiB
    file.tick()
    assert path.stat().st_ino != inode
    assert steps(path) == list(range(500))


def test_the_room_grows_with_the_file(open_file: Callable[..., JsonFile], path: Path) -> None:
    """So that copying costs each record the same, however many there are."""
    file = open_file()
    inodes = set()
    for step in range(6000):
        file.append(line(step, size=1000))
        inodes.add(path.stat().st_ino)
    size = path.stat().st_size
    assert 6_000_000 < size < 1.3 * 6_200_000
    assert file.room_bytes < size / 4


def test_a_copy_keeps_the_permissions_of_the_file(open_file: Callable[..., JsonFile], path: Path) -> None:
    file = open_file()
    path.chmod(0o640)
    file.append(line(0))
    file.close()
    assert path.stat().st_mode & 0o777 == 0o640


def test_the_bracket_moves_if_no_copy_can_be_made(
    open_file: Callable[..., JsonFile], path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    file = open_file(clock=clock)
    first = path.open()  # kept open, so that no other file gets its number
    inode = path.stat().st_ino

    def no_space(path: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(file_operations, "open_empty", no_space)
        for step in range(2000):
            file.append(line(step))
        assert steps(path) == list(range(2000))
        file.append(line(2000, size=9000))
        assert path.stat().st_ino == inode
    clock.now += 61
    for step in range(2001, 4000):
        file.append(line(step))
    assert steps(path) == list(range(4000))
    assert path.stat().st_ino != inode
    assert capsys.readouterr().err == ""
    first.close()
