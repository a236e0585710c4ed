"""Build: run each planned training that does not exist yet, a few in parallel."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from zoo.fault import all_faults
from zoo.plan import HEALTHY, PlannedTraining

TRAINERS = Path(__file__).parents[1] / "trainers"
TIMEOUT_SECS = 300
HANG_TIMEOUT_SECS = 25  # of the fault that hangs on purpose


def build(planned: list[PlannedTraining], directory: Path, *, jobs: int = 1) -> list[PlannedTraining]:
    """Train what is missing in the directory, and return those that failed."""
    directory.mkdir(parents=True, exist_ok=True)
    missing = [one for one in planned if not (directory / f"{one.name}.done").exists()]
    failed = []
    started_at = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(_train, one, directory): one for one in missing}
        for n, done in enumerate(as_completed(waiting), start=1):
            one, error = waiting[done], done.result()
            if error:
                failed.append(one)
                print(f"\n{one.name}: {error}", file=sys.stderr)
            took_secs = time.monotonic() - started_at
            print(
                f"\r{n} of {len(missing)} trained, {took_secs:.0f} s, {one.name:<50}",
                end="",
                file=sys.stderr,
                flush=True,
            )
    if missing:
        print(file=sys.stderr)
    return failed


def _train(one: PlannedTraining, directory: Path) -> str:
    """Run one training, and return its error or an empty string."""
    fault = None if one.fault == HEALTHY else all_faults()[one.fault]
    shutil.rmtree(directory / one.name, ignore_errors=True)
    command = [str(TRAINERS / f"{one.base}.py"), *one.arguments(str(directory))]
    if fault is not None and fault.after_kill:
        killed = [
            str(TRAINERS / f"{one.base}.py"),
            *PlannedTraining(one.base, "killed", one.seed).arguments(str(directory)),
        ]
        _run([sys.executable, *killed], name=one.name)
        command += ["--resume", str(directory / one.name)]
    ranks = fault.ranks if fault is not None else 1
    launch = [sys.executable]
    if ranks > 1:
        launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}"]
    code, text = _run(
        [*launch, *command], name=one.name, timeout_secs=HANG_TIMEOUT_SECS if one.fault == "hang" else TIMEOUT_SECS
    )
    # A fault may end its training early, but something must have been logged.
    if not list((directory / one.name).rglob("*tfevents*")):
        return f"exit {code}, nothing logged: {text[-400:]}"
    if code == -signal.SIGTERM or (code not in (0, -signal.SIGKILL, 137) and fault is None):
        return f"exit {code}: {text[-400:]}"
    (directory / f"{one.name}.done").write_text(json.dumps({"exit": code}), encoding="utf-8")
    return ""


def _run(command: list[str], *, name: str, timeout_secs: float = TIMEOUT_SECS) -> tuple[int, str]:
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "PULSEBOARD_RUN_ID": name}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=settings)
    try:
        text, _ = process.communicate(timeout=timeout_secs)
    except subprocess.TimeoutExpired:
        process.kill()
        text, _ = process.communicate()
    return process.returncode, text
