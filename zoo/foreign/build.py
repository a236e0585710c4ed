"""Build the foreign bases: train what is missing, a few bases in parallel."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from zoo.foreign.base import Base, all_bases, refresh_labels, truth_path

ROOT = Path(__file__).parents[2]


def build_bases(directory: Path, *, jobs: int = 1, only: str = "", tiny: bool = False) -> list[str]:
    """Train what is missing of the bases whose name contains `only`; return the names of trainings that failed.

    A base without its packages is skipped with a message.
    """
    started_at = time.monotonic()
    chosen = [base for base in all_bases().values() if only in base.name]
    for base in chosen:
        if base.missing:
            print(f"{base.name} is skipped: install {', '.join(base.missing)} (the extra `zoo`)", file=sys.stderr)
    possible = [base for base in chosen if not base.missing]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda base: _build(base, directory, tiny=tiny), possible))
    for base in chosen:
        refresh_labels(base, directory)
    print(f"Took {time.monotonic() - started_at:.0f} s.", file=sys.stderr)
    return [name for base in possible for name in missing_trainings(base, directory)]


def missing_trainings(base: Base, directory: Path) -> list[str]:
    """The planned trainings that are not in the directory."""
    names = [f"{base.name}-{fault}-{seed}" for fault, seed in base.planned()]
    return [name for name in names if not truth_path(directory, name).exists()]


def _build(base: Base, directory: Path, *, tiny: bool) -> None:
    if not missing_trainings(base, directory):
        return
    logs = directory / "build"
    logs.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", f"zoo.bases.{base.name}", "--dir", str(directory.resolve()), "--fault", "all"]
    command += ["--tiny"] if tiny else []
    # PYTHONHASHSEED: the same run on every machine. The hub of transformers is never needed.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONHASHSEED": "0"}
    with open(logs / f"{base.name}.log", "a", encoding="utf-8") as stream:
        subprocess.run(command, cwd=ROOT, env=environment, stdout=stream, stderr=subprocess.STDOUT, check=False)
    left = missing_trainings(base, directory)
    print(
        f"{base.name}: {'trained' if not left else f'{len(left)} failed, see {logs / base.name}.log'}", file=sys.stderr
    )
