"""Five scripts that were not written for Pulseboard: how many more checks run when `pulseboard run` watches them.

Compared with the same command with --no-watch, which has nothing but what the script prints.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pulseboard as pb

pytestmark = pytest.mark.long

SCRIPTS = Path(__file__).parent / "scripts"
SOURCE = str(Path(pb.__file__).parents[1])
OWED = 15


def checks_run(directory, script, *options):
    env = {**os.environ, "PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pulseboard", "run", "--dir", str(directory), *options, "--no-diagnosis", "--"]
    done = subprocess.run(
        [*command, sys.executable, str(SCRIPTS / script)],
        cwd=directory.parent,
        env=env,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    (report,) = pb.diagnose(pb.read(directory))
    return report.coverage.ran


@pytest.mark.parametrize(
    ("script", "packages", "options"),
    [
        ("torch_reinforce.py", ["torch", "gymnasium"], []),
        ("sb3_ppo.py", ["stable_baselines3"], []),
        ("transformers_trainer.py", ["torch", "transformers"], ["--transformers"]),
        ("lightning_boring.py", ["lightning"], ["--lightning"]),
        ("keras_functional.py", ["torch", "keras"], []),
    ],
)
def test_at_least_fifteen_more_checks_run(tmp_path, script, packages, options):
    for package in packages:
        # Not imported: Keras on its default backend would need TensorFlow.
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    without = checks_run(tmp_path / "without", script, "--no-watch")
    watched = checks_run(tmp_path / "watched", script, *options)
    assert watched - without >= OWED, f"{script}: {without} without, {watched} with"
