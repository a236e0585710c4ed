"""A short run of the fuzzer; `make fuzz` runs it longer."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.early

FUZZ = Path(__file__).parent / "fuzz.py"


@pytest.mark.parametrize("seconds", ["4", pytest.param("60", marks=pytest.mark.long)])
def test_hostile_bytes_trigger_no_sanitizer_and_no_failed_check(seconds):
    done = subprocess.run(
        [sys.executable, FUZZ, "--seconds", seconds],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    tail = "\n".join(done.stdout.splitlines()[-80:])
    assert done.returncode == 0, f"the fuzzer found something:\n{tail}"
    assert "no findings" in done.stdout, tail
