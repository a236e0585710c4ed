"""Our C files compile without warnings, those of the fuzzer too."""

import shutil
import subprocess
from pathlib import Path

import pytest

FUZZ = Path(__file__).parent / "fuzz"
KERNEL = Path(__file__).parents[2] / "src" / "pulseboard" / "kernel" / "c"
FOLDERS = [KERNEL, *sorted(path for path in KERNEL.iterdir() if path.is_dir())]


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
@pytest.mark.parametrize("source", [*sorted(KERNEL.rglob("*.c")), FUZZ / "fuzz.c"], ids=lambda path: path.name)
def test_a_c_file_compiles_without_warnings(source: Path) -> None:
    # Syntax only: warnings that need the optimizer differ between compiler versions.
    options = ["-std=gnu11", "-Wall", "-Wextra", "-fsyntax-only", *(f"-I{folder}" for folder in FOLDERS)]
    done = subprocess.run(["gcc", *options, str(source)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
