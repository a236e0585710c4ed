"""The trainings of the demo, each in its own process, like jobs on a machine."""

from __future__ import annotations

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
from pulseboard.rundir.run_file import find_run_file

_STOP_TIMEOUT_SECS = 5.0


class NotADemoRun(PulseboardError):
    """A directory has the name of a demo training, but the demo did not create it."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"The demo would overwrite files that it did not create. Choose another directory with --dir: {path}"
        )


class Training:
    """One training in its own process."""

    def __init__(self, name: str, *, directory: Path, secs: float, seed: int) -> None:
        self.name = name
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, closed by `wait`
        command = [sys.executable, "-m", "pulseboard.demo", name, "--dir", str(directory)]
        self._process = subprocess.Popen(
            [*command, "--secs", str(secs), "--seed", str(seed)],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            # The matrices are small: more threads would only slow each other down.
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process.poll() is None

    @property
    def trouble(self) -> str | None:
        """The last line of output, if the training failed on its own; None otherwise."""
        if not self._process.poll() or self._process.returncode < 0:
            return None
        self._output.seek(0)
        lines = self._output.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {self._process.returncode}"

    def end(self) -> None:
        """Send SIGTERM."""
        if self.running:
            self._process.terminate()

    def wait(self) -> None:
        """Wait until the process has ended; kill it if it takes too long."""
        try:
            self._process.wait(_STOP_TIMEOUT_SECS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()


@contextmanager
def side_by_side(*, directory: Path, secs: float, seed: int) -> Iterator[list[Training]]:
    """Run all trainings, each in its own process. They end with the block, finished or not."""
    remove_old_runs(directory)
    trainings: list[Training] = []
    try:
        for name in all_names():
            trainings.append(Training(name, directory=directory, secs=secs, seed=seed))
        yield trainings
    finally:
        for training in trainings:
            training.end()
        for training in trainings:
            training.wait()


def remove_old_runs(directory: Path) -> None:
    """Remove the runs of an earlier demo, and nothing else."""
    directory.mkdir(parents=True, exist_ok=True)
    old = [path for name in all_names() if (path := directory / name).exists()]
    for path in old:
        if not _is_demo_run(path):
            raise NotADemoRun(path)
    for path in old:
        shutil.rmtree(path)


def _is_demo_run(path: Path) -> bool:
    run_file = find_run_file(path)
    return run_file is not None and "demo" in run_file.tags
