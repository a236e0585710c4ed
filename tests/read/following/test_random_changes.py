"""After any sequence of changes, runs that were kept up to date equal freshly read ones."""

import gzip
import os
import shutil
import tempfile
from pathlib import Path

from builders import event_file, scalars, session_start, version
from hypothesis import given, settings
from hypothesis import strategies as st
from log_directories import all_of, write_run

import pulseboard as pb

DIRECTORIES = ["", "a", "a/b", "c", "c/logs/tensorboard", "c/ranks/1", "c/ranks/2"]
NAMES = ["events.out.tfevents.1", "events.out.tfevents.2", "events.out.tfevents.3"]
WHAT = [
    *["create"] * 4, *["append"] * 6, *["append_part"] * 3, "truncate", "rewrite", "replace", "delete", "rename",
    "move", "rename_directory", "swap_directories", "remove_directory", "make_directory", "archive", "junk",
    *["run_json"] * 2, "remove_run_json", "nothing",
]  # fmt: skip
LINKS = ["link", "link", "link_file", "remove_link"]


class Operations:
    """Random operations in a directory. File times come from a counter, not from a clock; every point is unique."""

    def __init__(self, root, choose):
        self.root, self.choose, self.count = root, choose, 0
        self.rest = {}  # path -> the missing bytes of a record that was written in part

    def act(self, what):
        self.count += 1
        getattr(self, what)()
        self._age_directories()

    def _age_directories(self):
        """Give directories that changed a unique time long ago, so that a new change always gets a new time."""
        for path in [self.root, *self.root.rglob("*")]:
            if path.is_dir() and not path.is_symlink() and path.stat().st_mtime > 1e9:
                self.count += 1
                self._age(path)

    def _events(self, *, fresh):
        out = [version(self.choose(["brain.Event:2", "brain.Event:2", "brain.Event:1"]))] if fresh else []
        for _ in range(self.choose([0, 1, 2, 5])):
            self.count += 1
            step = self.choose(range(6))
            kind = self.choose(["point", "point", "point", "start"])
            event = session_start(step) if kind == "start" else scalars(self.choose("xy"), (step, self.count))[0]
            event.wall_time = 1e9 + self.count
            out.append(event)
        return out[self.choose([0, 0, 1]) :] if fresh else out

    def _put(self, path, data, mode="wb"):
        with open(path, mode) as stream:
            stream.write(data)
        self._age(path)

    def _age(self, path):
        os.utime(path, ns=(self.count * 10**9,) * 2)

    def _files(self):
        found = [p for p in sorted(self.root.rglob("*tfevents*")) if p.is_file() and not p.is_symlink()]
        return [p for p in found if not any(parent.is_symlink() for parent in p.parents)]

    def _file(self):
        files = [path for path in self._files() if path.suffix != ".gz"]
        return self.choose(files) if files else None

    def _directory(self):
        found = [self.root / name for name in DIRECTORIES[1:]]
        found = [path for path in found if path.is_dir()]
        return self.choose(found) if found else None

    def create(self):
        path = self.root / self.choose(DIRECTORIES) / self.choose(NAMES)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.rest.pop(path, None)
        self._put(path, event_file(*self._events(fresh=True)))

    def append(self):
        if path := self._file():
            self._put(path, self.rest.pop(path, b"") + event_file(*self._events(fresh=False)), "ab")

    def append_part(self):
        if path := self._file():
            data = self.rest.pop(path, b"") + event_file(*scalars("x", (self.choose(range(6)), self.count)))
            cut = self.choose(range(len(data)))
            self.rest[path] = data[cut:]
            self._put(path, data[:cut], "ab")

    def truncate(self):
        if path := self._file():
            os.truncate(path, self.choose(range(path.stat().st_size + 1)))
            self.rest.pop(path, None)
            self._age(path)

    def rewrite(self):
        if path := self._file():
            self.rest.pop(path, None)
            self._put(path, event_file(*self._events(fresh=True)))

    def replace(self):
        if path := self._file():
            self.rest.pop(path, None)
            self._put(self.root / "staging", event_file(*self._events(fresh=True)))
            os.replace(self.root / "staging", path)

    def delete(self):
        if path := self._file():
            path.unlink()

    def rename(self):
        if path := self._file():
            path.rename(path.parent / self.choose(NAMES))

    def move(self):
        if (path := self._file()) and (directory := self._directory()):
            path.rename(directory / path.name)

    def swap_directories(self):
        first, second = self._directory(), self._directory()
        if first and second and first not in [second, *second.parents] and second not in first.parents:
            first.rename(self.root / "aside")
            second.rename(first)
            (self.root / "aside").rename(second)

    def rename_directory(self):
        path, target = self._directory(), self.root / self.choose(["a", "c", "d", "a/e"])
        if path and not target.exists() and path not in target.parents and target.parent.is_dir():
            path.rename(target)

    def remove_directory(self):
        if path := self._directory():
            shutil.rmtree(path)

    def make_directory(self):
        (self.root / self.choose(DIRECTORIES) / "new").mkdir(parents=True, exist_ok=True)

    def archive(self):
        if path := self._file():
            target = path.with_name(path.name + ".gz")
            self._put(target, gzip.compress(path.read_bytes(), mtime=0))
            path.unlink()

    def link(self):
        path = self.root / self.choose(["link", "a/link"])
        if path.parent.is_dir() and not path.is_symlink():
            path.symlink_to(self.root / self.choose(["c", "nowhere", ""]))

    def link_file(self):
        path = self.root / self.choose(DIRECTORIES) / "linked.tfevents"
        if path.parent.is_dir() and not path.is_symlink():
            path.symlink_to(self.root / self.choose(["a", "c/ranks/1", "nowhere"]) / self.choose(NAMES))

    def remove_link(self):
        links = [path for path in sorted(self.root.rglob("*")) if path.is_symlink()]
        if links:
            self.choose(links).unlink()

    def junk(self):
        path = self.root / self.choose(DIRECTORIES) / "junk.tfevents"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._put(path, self.choose([b"", b"x", b"no event file" * 9]))

    def run_json(self):
        if (self.root / "c").is_dir():
            (self.root / "c" / "run.json").write_text("{}")

    def remove_run_json(self):
        (self.root / "c" / "run.json").unlink(missing_ok=True)

    def nothing(self):
        pass

    def seen(self):
        """Everything in the directory, by path, as file-system events would see it."""
        paths = [self.root, *self.root.rglob("*")]
        return {str(path): (path.lstat().st_ino, path.is_file() and path.lstat().st_mtime_ns) for path in paths}


def _reported(before, after):
    """The paths that events would report: a directory that appeared or disappeared, but not what is below it."""
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return [path for path in changed if path in before.keys() & after.keys() or os.path.dirname(path) not in changed]


@settings(max_examples=settings().max_examples // 2)
@given(st.lists(st.sampled_from(WHAT + LINKS), min_size=3, max_size=25), st.randoms(use_true_random=False))
def test_polled_runs_equal_freshly_read_ones_whatever_happens_to_the_directory(operations, random):
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        directory_changes = Operations(root, lambda among: random.choice(list(among)))
        polled, refreshed = pb.read(root), pb.read(root)
        for operation in operations:
            directory_changes.act(operation)
            before = {name: (run.points, len(run.files)) for name, run in polled.items()}
            changes = polled.poll()
            refreshed.refresh()
            want = all_of(pb.read(root))
            assert all_of(polled) == want, operation
            assert all_of(refreshed) == want, operation
            assert set(changes.added) == set(polled) - set(before), operation
            assert set(changes.removed) == set(before) - set(polled), operation
            moved = {n for n, r in polled.items() if n in before and before[n] != (r.points, len(r.files))}
            assert moved <= set(changes.grown), operation


@settings(max_examples=settings().max_examples // 2)
@given(st.lists(st.sampled_from(WHAT), min_size=3, max_size=25), st.randoms(use_true_random=False))
def test_runs_polled_by_path_equal_freshly_read_ones(operations, random):
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        directory_changes = Operations(root, lambda among: random.choice(list(among)))
        for name in DIRECTORIES:
            write_run(root / name, (0, 1.0))
        directory_changes.act("nothing")
        given = [root, root / "a", root / "c"]
        several, one = pb.read(*given), pb.read(root)
        for operation in operations:
            before = directory_changes.seen()
            directory_changes.act(operation)
            paths = _reported(before, directory_changes.seen())
            several.poll(paths)
            one.poll(paths)
            assert all_of(one) == all_of(pb.read(root)), operation
            if all(path.is_dir() for path in given):
                assert all_of(several) == all_of(pb.read(*given)), operation
