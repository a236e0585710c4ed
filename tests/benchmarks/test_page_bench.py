"""The page benchmark as a smoke test."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = REPOSITORY.parent / "shared" / "bench"
PAGE = REPOSITORY / "src/pulseboard/serve/page/index.html"


def run_benchmark(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-W", "error", str(REPOSITORY / "benchmarks" / "page.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.skipif(
    not SHARED.is_dir(), reason="the logs are made by ../shared/bench, which is not beside this checkout"
)
@pytest.mark.skipif(
    not (os.environ.get("PULSEBOARD_CHROMIUM") or shutil.which("chromium")),
    reason="Chromium is missing: apt-get install chromium, or name it in PULSEBOARD_CHROMIUM",
)
@pytest.mark.skipif(not PAGE.exists(), reason="The page is not built: make page")
def test_the_quick_benchmark_measures_every_subject_and_writes_its_section(tmp_path):
    pytest.importorskip("playwright.sync_api", reason="playwright is missing: pip install playwright")
    page = tmp_path / "benchmarks.md"
    done = run_benchmark("--quick", "--write", str(page))
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    for subject in ("The first chart on the screen", "The first load", "Memory of the page", "Scrolling"):
        assert f"### {subject}\n" in text
    assert str(tmp_path) not in text


def test_without_the_scripts_that_make_the_logs_the_benchmark_says_so_and_fails(tmp_path):
    pytest.importorskip("playwright.sync_api", reason="playwright is missing: pip install playwright")
    done = run_benchmark("--quick", "--shared", str(tmp_path))
    assert done.returncode == 2
    assert "make_logs.py" in done.stderr
