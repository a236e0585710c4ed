"""The JSON array on disk: whole at every moment, through kills, full disks, removed files and forks."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pulseboard.record import beside, json_file
from pulseboard.record.json_file import PAGE_BYTES, JsonFile

REAL_PWRITE = os.pwrite


def line(step: int, *, size: int = 180) -> str:
    made = json.dumps({"log": "step", "step": step, "pad": ""})
    return made[:-2] + "x" * max(0, size - len(made)) + made[-2:]


def read(path: Path) -> list[dict[str, Any]]:
    """The file as a strict parser has it."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    found = json.loads(path.read_bytes(), parse_constant=refuse)
    assert isinstance(found, list)
    return found


def steps(path: Path) -> list[int]:
    return [record["step"] for record in read(path)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "output" / "training.json"


@pytest.fixture
def open_file(path: Path) -> Iterator[Callable[..., JsonFile]]:
    opened = []

    def make(**options: Any) -> JsonFile:
        file = JsonFile(path, **{"strict": True, **options})
        opened.append(file)
        return file

    yield make
    for file in opened:
        file.close()


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


# ---------- an array, always


def test_a_new_file_is_an_empty_array(open_file: Callable[..., JsonFile], path: Path) -> None:
    open_file()
    assert read(path) == []


def test_every_record_is_in_the_file_when_append_returns(open_file: Callable[..., JsonFile], path: Path) -> None:
    file = open_file()
    for step in range(50):
        file.append(line(step))
        assert steps(path) == list(range(step + 1))


def test_closing_leaves_no_room_behind(open_file: Callable[..., JsonFile], path: Path) -> None:
    file = open_file()
    file.append('{"step": 1}')
    file.append('{"step": 2}')
    file.close()
    assert path.read_text() == '[\n{"step": 1},\n{"step": 2}\n]\n'
    assert os.listdir(path.parent) == ["training.json"]


@pytest.mark.parametrize("size", [60, 180, 1000, 4094, 4095, 9000])
def test_the_array_is_whole_between_any_two_pages_of_a_write(
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


def test_a_record_that_would_cross_a_page_begins_the_next(open_file: Callable[..., JsonFile], path: Path) -> None:
    file = open_file()
    file.append(line(0, size=2000))
    file.append(line(1, size=PAGE_BYTES - 2 - 2000 - 1))
    assert path.read_bytes()[PAGE_BYTES : PAGE_BYTES + 3] == b",\n{"
    assert steps(path) == [0, 1]


def test_a_long_record_in_a_long_file_goes_straight_in(
    open_file: Callable[..., JsonFile], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_file, "_MOST_COPIED_BYTES", 1000)
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


def test_a_record_logged_within_a_write_follows_it(
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
    assert file._bracket - file._end < size / 4


def test_a_copy_keeps_the_rights_of_the_file(open_file: Callable[..., JsonFile], path: Path) -> None:
    file = open_file()
    path.chmod(0o640)
    file.append(line(0))
    file.close()
    assert path.stat().st_mode & 0o777 == 0o640


def test_where_no_copy_can_be_made_the_bracket_moves(
    open_file: Callable[..., JsonFile], path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    file = open_file(clock=clock)
    first = path.open()  # kept open, so that no other file gets its number
    inode = path.stat().st_ino

    def no_space(path: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(beside, "open_empty", no_space)
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
def test_an_empty_array_or_file_is_begun(
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
def test_what_is_no_whole_array_is_mended_and_kept_aside(
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
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{len(kept)} complete records" in said
    assert "training.json.damaged" in said


def test_a_second_damage_does_not_replace_the_first(open_file: Callable[..., JsonFile], path: Path) -> None:
    path.parent.mkdir()
    for text in ("first", "second"):
        path.write_text(text)
        open_file().close()
    assert path.with_name("training.json.damaged").read_text() == "first"
    assert path.with_name("training.json.damaged.2").read_text() == "second"


def test_a_file_system_without_second_names_gets_a_copy(
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
def test_of_a_long_file_the_end_is_looked_at(
    end: str, kept: bool, open_file: Callable[..., JsonFile], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_file, "_MOST_PARSED_BYTES", 1000)
    monkeypatch.setattr(json_file, "_MOST_ROOM_BYTES", 1000)
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


# ---------- trouble with the disk


def failing(code: int) -> Callable[..., int]:
    def fail(fd: int, data: Any, at: int) -> int:
        raise OSError(code, os.strerror(code))

    return fail


def test_a_full_disk_is_said_once_and_what_waits_is_written_later(
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
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "No space left on device" in said
    clock.now += 1
    file.append(line(10))
    assert steps(path) == list(range(11))
    assert "being written again" in capsys.readouterr().err


def test_a_disk_in_trouble_is_asked_once_a_second(
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


def test_what_does_not_fit_in_memory_is_counted_and_said(
    open_file: Callable[..., JsonFile], path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    file = open_file(strict=False, clock=clock, most_waiting_bytes=1000)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", failing(errno.EIO))
        for step in range(10):
            file.append(line(step, size=200))
    assert file.dropped_records == 5
    clock.now += 2
    file.tick()
    assert steps(path) == [0, 1, 2, 3, 4]
    assert "5 records did not fit" in capsys.readouterr().err


def test_what_cannot_be_written_in_the_end_is_said(
    open_file: Callable[..., JsonFile], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = open_file(strict=False)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", failing(errno.EIO))
        file.append(line(0))
        file.close()
    assert "1 records of the JSON log could not be written and are lost" in capsys.readouterr().err


def test_half_a_write_is_taken_back(
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


def test_a_directory_that_cannot_be_made_is_tried_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


# ---------- files that others touch


def test_a_removed_file_is_written_anew(
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
    assert "had been removed" in capsys.readouterr().err


def test_a_file_put_in_our_place_is_left_alone(open_file: Callable[..., JsonFile], path: Path) -> None:
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


def test_a_file_moved_away_is_written_where_it_is(open_file: Callable[..., JsonFile], path: Path) -> None:
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
    first, second = json_file.shared(path, strict=True), json_file.shared(str(path), strict=True)
    first.append(line(0))
    second.append(line(1))
    first.close()
    second.append(line(2))
    second.close()
    assert steps(path) == [0, 1, 2]
    assert os.listdir(path.parent) == ["training.json"]


def test_a_closed_file_takes_no_more(open_file: Callable[..., JsonFile], path: Path) -> None:
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


# ---------- processes


def run_script(script: str, *arguments: object, timeout_secs: float = 120) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, timeout=timeout_secs
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout + ran.stderr


FORK = """
import os, sys
from pulseboard.record.json_file import JsonFile
file = JsonFile(sys.argv[1], strict=True)
file.append('{"step": 0}')
for writes in (True, False):
    pid = os.fork()
    if pid == 0:
        if writes:
            file.append('{"step": 1}')
            print(file.path)
        sys.exit()
    os.waitpid(pid, 0)
file.append('{"step": 2}')
file.close()
"""


def test_a_forked_child_that_logs_has_a_file_of_its_own(path: Path) -> None:
    said = run_script(FORK, path)
    assert steps(path) == [0, 2]
    names = sorted(os.listdir(path.parent))
    assert len(names) == 2
    assert "Another process writes this JSON log" in said
    own = path.with_name(next(name for name in names if name != "training.json"))
    assert f"{own}\n" in said
    assert steps(own) == [1]


ORPHAN = """
import os, sys
from pulseboard.record.json_file import JsonFile
file = JsonFile(sys.argv[1], strict=True)
file.append('{"step": 0}')
if os.fork() == 0:
    os.setsid()
    import time
    time.sleep(20)
    os._exit(0)
os._exit(0)
"""


def test_a_child_that_outlives_its_parent_does_not_hold_the_file(path: Path) -> None:
    """A data loader's worker may: the resumed run goes on with the same file."""
    subprocess.run([sys.executable, "-c", ORPHAN, str(path)], timeout=60, check=True)
    file = JsonFile(path, strict=True)
    file.append(line(1))
    file.close()
    assert steps(path) == [0, 1]


KILLED = """
import json, mmap, os, random, signal, sys, time
from pulseboard.record.json_file import JsonFile

path, kills, rng = sys.argv[1], int(sys.argv[2]), random.Random(int(sys.argv[3]))
returned = mmap.mmap(-1, 8)  # how many calls have returned, seen by both processes
ticks = 0

def refuse(word):
    raise AssertionError(word)

def child(first):
    file = JsonFile(path, strict=True)
    for step in range(first, 10**9):
        # Now and then one that fills more than a page.
        pad = rng.choice([5000, 9000]) if rng.random() < 0.01 else rng.randrange(300)
        file.append(json.dumps({"log": "step", "step": step, "pad": "x" * pad}))
        returned[:] = (step + 1).to_bytes(8, "little")
        if step % 50 == 0:
            file.tick()

count = 0
for n in range(kills):
    before = int.from_bytes(returned[:], "little")
    pid = os.fork()
    if pid == 0:
        try:
            rng.seed(n)
            child(count)
        finally:
            os._exit(1)
    while int.from_bytes(returned[:], "little") == before:
        assert os.waitpid(pid, os.WNOHANG) == (0, 0), "the child failed"
        time.sleep(0.0002)
    time.sleep(rng.random() * 0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    sure = int.from_bytes(returned[:], "little")
    with open(path, "rb") as stream:
        found = [record["step"] for record in json.loads(stream.read(), parse_constant=refuse)]
    assert found == list(range(len(found))), found
    # The last one may be in the file although the call had no time to return.
    assert len(found) in (sure, sure + 1), (len(found), sure)
    count = len(found)
    returned[:] = count.to_bytes(8, "little")
assert not os.path.exists(path + ".damaged")
print(count)
"""


def test_a_killed_process_leaves_every_record_whose_call_had_returned(path: Path) -> None:
    logged = int(run_script(KILLED, path, 60, 1))
    assert logged > 60
    file = JsonFile(path, strict=True)
    file.close()
    assert steps(path) == list(range(logged))
    assert os.listdir(path.parent) == ["training.json"]
