"""Benchmarks are a package at the root of the repository, run as `python -m benchmarks.NAME`."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


@pytest.fixture
def run_benchmark():
    """Run one as a user does: what it printed, and its exit code."""

    def run(name, *arguments, **options):
        command = [sys.executable, "-W", "error", "-m", name, *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, **options)

    return run


@pytest.fixture
def quick_report(run_benchmark, tmp_path):
    """The report that a smoke test of a benchmark writes."""

    def report(name):
        file = tmp_path / "benchmarks.md"
        done = run_benchmark(f"benchmarks.{name}", "--quick", "--write", str(file))
        assert done.returncode == 0, done.stderr
        text = file.read_text(encoding="utf-8")
        assert "these figures mean nothing" in text
        assert f"`python -m benchmarks.{name} --quick --write benchmarks.md`" in text
        assert str(tmp_path) not in text
        return text

    return report
