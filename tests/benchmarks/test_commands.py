"""Every command of `make bench` starts and says what it takes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = re.findall(r"python (benchmarks/\w+\.py)", (ROOT / "Makefile").read_text(encoding="utf-8"))


def test_there_are_commands():
    assert len(COMMANDS) >= 7


@pytest.mark.parametrize("command", COMMANDS)
def test_it_starts(command):
    ran = subprocess.run([sys.executable, command, "--help"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert "--write" in ran.stdout
