"""The serving benchmark as a smoke test."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = REPOSITORY.parent / "shared" / "bench"


def run_benchmark(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-W", "error", str(REPOSITORY / "benchmarks" / "serve.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.skipif(
    not SHARED.is_dir(), reason="the logs are made by ../shared/bench, which is not beside this checkout"
)
def test_the_quick_benchmark_measures_every_subject_and_writes_its_section(tmp_path):
    page = tmp_path / "benchmarks.md"
    done = run_benchmark("--quick", "--write", str(page))
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    for subject in ("The first chart", "Charts", "Cost of a chart by points", "Many runs", "Live runs", "Under load"):
        assert f"### {subject}\n" in text
    assert str(tmp_path) not in text


def test_without_the_scripts_that_make_the_logs_the_benchmark_says_so_and_fails(tmp_path):
    done = run_benchmark("--quick", "--shared", str(tmp_path))
    assert done.returncode == 2
    assert "make_logs.py" in done.stderr
