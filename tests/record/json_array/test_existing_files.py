"""Files that exist when a JSON log is opened, and files that other programs touch."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from record.json_array.arrays import line, read, steps

from pulseboard.core.plural import plural
from pulseboard.record.json_array import json_file, padded_array
from pulseboard.record.json_array.json_file import JsonFile

# ---------- a file that was there


@pytest.mark.parametrize(
    "text",
    [
        '[\n{"step": 0},\n{"step": 1}\n]\n',
        '[{"step":0},{"step":1}]',
        '[\n  {\n    "step": 0\n  },\n  {\n    "step": 1\n  }\n]',
        '[\n{"step": 0},\n{"step": 1}' + " " * 200_000 + "\n]\n   ",
    ],
)
def test_an_array_is_appended_to(
    text: str, open_file: Callable[..., JsonFile], path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path.parent.mkdir()
    path.write_text(text)
    file = open_file()
    file.append(line(2))
    file.append(line(3))
    assert steps(path) == [0, 1, 2, 3]
    file.close()
    assert steps(path) == [0, 1, 2, 3]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("text", ["", "[]", "[\n\n]\n", " [ ] "])
def test_an_empty_array_or_file_is_appended_to(
    text: str, open_file: Callable[..., JsonFile], path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path.parent.mkdir()
    path.write_text(text)
    open_file().append(line(0))
    assert steps(path) == [0]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('[\n{"log": "a", "step": 0},\n{"log": "a", "step": 1},\n{"log": "a", "st', [0, 1]),
        ('[\n{"log": "a", "step": 0}      ]\n    ]', [0]),
        ('{"log": "a", "step": 0}\n{"log": "a", "step": 1}\n', [0, 1]),
        ('[\n{"log": "a", "step": 0, "loss": NaN}\n]\n', [0]),
        ('[\n{"log": "a", "step": 0},\n\0\0\0\0\0\0', [0]),
        ("lr: 0.1\n", []),
    ],
)
def test_a_damaged_file_is_repaired_and_kept_under_another_name(
    text: str,
    kept: list[int],
    open_file: Callable[..., JsonFile],
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path.parent.mkdir()
    path.write_text(text)
    file = open_file()
    assert steps(path) == kept
    file.append(line(7))
    assert steps(path) == [*kept, 7]
    assert path.with_name("training.json.damaged").read_text() == text
    stderr = capsys.readouterr().err
    assert stderr.count("\n") == 1
    assert plural(len(kept), "complete record") in stderr
    assert "training.json.damaged" in stderr


def test_a_second_damaged_file_does_not_replace_the_first(open_file: Callable[..., JsonFile], path: Path) -> None:
    path.parent.mkdir()
    for text in ("first", "second"):
        path.write_text(text)
        open_file().close()
    assert path.with_name("training.json.damaged").read_text() == "first"
    assert path.with_name("training.json.damaged.2").read_text() == "second"


def test_a_file_system_without_hard_links_gets_a_copy(
    open_file: Callable[..., JsonFile], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    path.parent.mkdir()
    path.write_text("torn")
    open_file()
    assert path.with_name("training.json.damaged").read_text() == "torn"
    assert read(path) == []


@pytest.mark.parametrize(("end", "kept"), [("\n]\n", True), ("", False)])
def test_only_the_end_of_a_long_file_is_checked(
    end: str, kept: bool, open_file: Callable[..., JsonFile], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(padded_array, "_MAX_PARSED_BYTES", 1000)
    monkeypatch.setattr(padded_array, "_MAX_ROOM_BYTES", 1000)
    path.parent.mkdir()
    path.write_text("[\n" + ",\n".join(line(step) for step in range(100)) + end)
    open_file().append(line(100))
    assert steps(path) == list(range(101))
    assert path.with_name("training.json.damaged").exists() is not kept


def test_a_link_to_a_file_stays_a_link(open_file: Callable[..., JsonFile], path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere.json")
    file = open_file()
    file.append(line(0))
    file.close()
    assert path.is_symlink()
    assert steps(tmp_path / "elsewhere.json") == [0]


# ---------- files that others touch


def test_a_removed_file_is_written_again(
    open_file: Callable[..., JsonFile], path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = open_file()
    file.append(line(0))
    path.unlink()
    path.parent.rmdir()
    file.append(line(1))
    file.tick()
    file.append(line(2))
    assert steps(path) == [0, 1, 2]
    assert "was removed" in capsys.readouterr().err


def test_another_file_in_our_place_is_left_alone(open_file: Callable[..., JsonFile], path: Path) -> None:
    file = open_file()
    file.append(line(0))
    other = path.with_name("other")
    other.write_text("mine")
    other.rename(path)
    file.tick()
    file.append(line(1))
    assert path.read_text() == "mine"
    assert file.path == str(path.with_name(f"training-{os.getpid()}.json"))
    assert steps(Path(file.path)) == [0, 1]


def test_a_file_that_was_moved_is_written_at_its_new_place(open_file: Callable[..., JsonFile], path: Path) -> None:
    file = open_file()
    moved = path.with_name("kept.json")
    path.rename(moved)
    for step in range(1000):
        file.append(line(step))
    file.close()
    assert steps(moved) == list(range(1000))
    assert not path.exists()


def test_a_file_that_another_process_writes_is_left_to_it(
    open_file: Callable[..., JsonFile], path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path.parent.mkdir()
    path.write_text("[]")
    with path.open("r+") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        file = open_file()
        file.append(line(0))
    assert path.read_text() == "[]"
    assert steps(path.with_name(f"training-{os.getpid()}.json")) == [0]
    assert capsys.readouterr().err.count("\n") == 1


def test_loggers_of_one_process_share_a_file(path: Path) -> None:
    first, second = json_file.open_shared(path, strict=True), json_file.open_shared(str(path), strict=True)
    first.append(line(0))
    second.append(line(1))
    first.close()
    second.append(line(2))
    second.close()
    assert steps(path) == [0, 1, 2]
    assert os.listdir(path.parent) == ["training.json"]


def test_a_closed_file_ignores_records(open_file: Callable[..., JsonFile], path: Path) -> None:
    file = open_file()
    file.close()
    file.append(line(0))
    file.tick()
    assert read(path) == []


def test_a_buffered_file_is_written_by_tick(open_file: Callable[..., JsonFile], path: Path) -> None:
    file = open_file(buffered=True)
    file.append(line(0))
    assert steps(path) == []
    file.tick()
    assert steps(path) == [0]
