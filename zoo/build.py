"""Building: each training of the plan that is not there yet, some at a time."""

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
from zoo.plan import HEALTHY, Specimen

TRAINERS = Path(__file__).parents[1] / "trainers"
# A training that should hang is ended after this long without a new point.
PATIENCE_SECS = 300
HANG_SECS = 25


def build(specimens: list[Specimen], directory: Path, *, jobs: int = 1) -> list[Specimen]:
    """Train what is missing below the directory; those that failed come back."""
    directory.mkdir(parents=True, exist_ok=True)
    missing = [one for one in specimens if not (directory / f"{one.name}.done").exists()]
    failed = []
    began = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(_train, one, directory): one for one in missing}
        for n, done in enumerate(as_completed(waiting), start=1):
            one, error = waiting[done], done.result()
            if error:
                failed.append(one)
                print(f"\n{one.name}: {error}", file=sys.stderr)
            took = time.monotonic() - began
            print(f"\r{n} of {len(missing)} trained, {took:.0f} s, {one.name:<50}", end="", file=sys.stderr, flush=True)
    if missing:
        print(file=sys.stderr)
    return failed


def _train(one: Specimen, directory: Path) -> str:
    """Train one; what went wrong comes back, or nothing."""
    fault = None if one.fault == HEALTHY else all_faults()[one.fault]
    shutil.rmtree(directory / one.name, ignore_errors=True)
    command = [str(TRAINERS / f"{one.base}.py"), *one.arguments(str(directory))]
    if fault is not None and fault.after_kill:
        before = [str(TRAINERS / f"{one.base}.py"), *Specimen(one.base, "killed", one.seed).arguments(str(directory))]
        _run([sys.executable, *before], name=one.name)
        command += ["--resume", str(directory / one.name)]
    ranks = fault.ranks if fault is not None else 1
    launch = [sys.executable]
    if ranks > 1:
        launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}"]
    code, text = _run(
        [*launch, *command], name=one.name, patience_secs=HANG_SECS if one.fault == "hang" else PATIENCE_SECS
    )
    # A fault may end its training, as faults do; but something must have been logged.
    if not list((directory / one.name).rglob("*tfevents*")):
        return f"exit {code}, nothing logged: {text[-400:]}"
    if code == -signal.SIGTERM or (code not in (0, -signal.SIGKILL, 137) and fault is None):
        return f"exit {code}: {text[-400:]}"
    (directory / f"{one.name}.done").write_text(json.dumps({"exit": code}), encoding="utf-8")
    return ""


def _run(command: list[str], *, name: str, patience_secs: float = PATIENCE_SECS) -> tuple[int, str]:
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "PULSEBOARD_RUN_ID": name}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=settings)
    try:
        text, _ = process.communicate(timeout=patience_secs)
    except subprocess.TimeoutExpired:
        process.kill()
        text, _ = process.communicate()
    return process.returncode, text
