"""A run of the fuzzer for PULSEBOARD_FUZZ_SECONDS (15 by default); `make fuzz` runs it longer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

FUZZ = Path(__file__).parent / "fuzz.py"


def test_hostile_bytes_trigger_no_sanitizer_and_no_failed_check():
    seconds = os.environ.get("PULSEBOARD_FUZZ_SECONDS", "15")
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
