"""The trainings as processes beside each other, as jobs on a machine are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pulseboard.core.errors import PulseboardError
from pulseboard.demo.trainings import all_names

_PATIENCE_SECS = 5.0


class NotOurs(PulseboardError):
    """A directory that has the name of one of the trainings, and was not made by one."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"The demo would overwrite what is not its own. Choose another directory with --dir: {path}")


class Training:
    """One training that runs."""

    def __init__(self, name: str, *, directory: Path, secs: float, seed: int) -> None:
        self.name = name
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, closed when it has ended
        command = [sys.executable, "-m", "pulseboard.demo", name, "--dir", str(directory)]
        self._process = subprocess.Popen(
            [*command, "--secs", str(secs), "--seed", str(seed)],
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=self._said,
            # Its matrices are small: more threads would only be in each other's way.
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return self._process.poll() is None

    @property
    def trouble(self) -> str | None:
        """The last line of a training that ended by an error of its own."""
        if not self._process.poll() or self._process.returncode < 0:
            return None
        self._said.seek(0)
        lines = self._said.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {self._process.returncode}"

    def end(self) -> None:
        """Ask it to end."""
        if self.running:
            self._process.terminate()

    def wait(self) -> None:
        """Return when it has ended, which one that does not listen is made to."""
        try:
            self._process.wait(_PATIENCE_SECS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.close()


@contextmanager
def side_by_side(*, directory: Path, secs: float, seed: int) -> Iterator[list[Training]]:
    """All trainings, each in its own process. They end with the block, finished or not."""
    make_room(directory)
    trainings: list[Training] = []
    try:
        for name in all_names():
            trainings.append(Training(name, directory=directory, secs=secs, seed=seed))
        yield trainings
    finally:
        for one in trainings:
            one.end()
        for one in trainings:
            one.wait()


def make_room(directory: Path) -> None:
    """Remove the runs of an earlier demonstration, and nothing else."""
    directory.mkdir(parents=True, exist_ok=True)
    old = [path for name in all_names() if (path := directory / name).exists()]
    for path in old:
        if not _is_ours(path):
            raise NotOurs(path)
    for path in old:
        shutil.rmtree(path)


def _is_ours(path: Path) -> bool:
    try:
        told = json.loads((path / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(told, dict) and "demo" in (told.get("tags") or ())
