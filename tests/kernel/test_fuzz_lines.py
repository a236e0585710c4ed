"""The line scanner reads mutated logs under the address and undefined-behavior sanitizers."""

import runpy
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def test_no_mutation_of_a_log_makes_the_scanner_misbehave(tmp_path):
    fuzz = runpy.run_path(str(HERE / "fuzz.py"))
    fuzz["BUILD"].mkdir(parents=True, exist_ok=True)
    try:
        fuzz["check_tools"]()
    except fuzz["CannotBuild"] as error:
        pytest.skip(str(error))
    text = fuzz["KERNEL"] / "text"
    sources = [*map(str, sorted(text.glob("*.c"))), str(HERE / "fuzz_lines.c")]
    program = tmp_path / "fuzz_lines"
    fuzz["run_gcc"](
        [*fuzz["CHECKED"], *fuzz["PLAIN"], f"-I{text}", f"-I{fuzz['KERNEL'] / 'system'}", *sources, "-o", str(program)]
    )
    done = subprocess.run([program, "1", "7"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
