import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_the_quick_benchmark_measures_every_subject_and_writes_its_section(tmp_path):
    file = tmp_path / "benchmarks.md"
    command = [sys.executable, str(BENCHMARKS / "diagnose.py"), "--quick", "--write", str(file)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    text = file.read_text(encoding="utf-8")
    assert "diagnosed after reading" in text
    assert "after 100 new steps" in text
    assert "mean nothing" in text
