"""The fuzzer, for as long as PULSEBOARD_FUZZ_SECONDS says (60); `make fuzz` runs it for longer."""

import os
import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).parent / "fuzz.py"


def test_hostile_bytes_find_nothing_in_the_sanitized_kernel():
    seconds = os.environ.get("PULSEBOARD_FUZZ_SECONDS", "60")
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
