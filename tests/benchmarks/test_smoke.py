"""Each benchmark as a smoke test: it measures every part and writes its section.

test_commands.py starts all of them; here `make test` runs the two that take seconds, and `make test-long` the others.
"""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.early

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src/pulseboard/serve/page/index.html"

has_chromium = bool(os.environ.get("PULSEBOARD_CHROMIUM") or shutil.which("chromium"))
has_playwright = importlib.util.find_spec("playwright") is not None


def assert_parts(text, *titles):
    for title in titles:
        assert f"### {title}\n" in text


@pytest.mark.long
def test_read(quick_report):
    text = quick_report("read")
    assert_parts(text, "Targets", "Speed and memory", "Many runs", "Following", "Runs on S3", "Exporting")
    for name in ("a", "a_tensor", "b", "c", "d"):
        assert f"| {name}: times as fast as the Rust loader, whole process" in text


@pytest.mark.long
def test_write(quick_report):
    text = quick_report("write")
    assert_parts(text, "Targets", "Scalars", "Histograms")
    installed = [line for line in text.splitlines() if " of 4,000 |" in line]
    assert len(installed) >= 4  # two of ours, and two that need no package
    assert all("| 4,000 of 4,000 |" in line for line in installed)


@pytest.mark.long
def test_watch(quick_report):
    assert "time that `pb.watch` adds to training" in quick_report("watch")


@pytest.mark.long
def test_serve(quick_report):
    text = quick_report("serve")
    assert_parts(
        text, "Targets", "First chart", "Charts", "Cost of a chart by points", "Many runs", "Live runs", "Under load"
    )


@pytest.mark.long
@pytest.mark.skipif(
    not has_chromium, reason="Chromium is missing: apt-get install chromium, or set PULSEBOARD_CHROMIUM to its path"
)
@pytest.mark.skipif(not has_playwright, reason="playwright is missing: pip install playwright")
@pytest.mark.skipif(not PAGE.exists(), reason="The page is not built: make page")
def test_page(quick_report):
    text = quick_report("page")
    assert_parts(text, "Targets", "First chart on the screen", "First load", "Memory of the page", "Scrolling")


def test_charts(quick_report):
    text = quick_report("charts")
    assert_parts(text, "Targets", "Charts of many runs", "Charts of one run", "Lists and restarts", "Tables")


def test_diagnose(quick_report):
    text = quick_report("diagnose")
    assert "diagnosed after reading" in text
    assert "after 100 new steps" in text


@pytest.mark.skipif(not has_playwright, reason="playwright is missing: pip install playwright")
def test_without_a_browser_the_page_benchmark_says_what_to_install(run_benchmark, tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "PULSEBOARD_CHROMIUM"}
    done = run_benchmark("benchmarks.page", "--quick", env={**environment, "PATH": str(tmp_path)})
    assert done.returncode == 2, done.stderr
    assert "apt-get install chromium" in done.stderr
    assert not done.stdout


def test_a_part_can_be_measured_alone_and_nothing_is_written(run_benchmark, tmp_path):
    file = tmp_path / "benchmarks.md"
    done = run_benchmark("benchmarks.diagnose", "--quick", "--only", "live", "--write", str(file))
    assert done.returncode == 0, done.stderr
    assert "after 100 new steps" in done.stdout
    assert "diagnosed after reading" not in done.stdout
    assert not file.exists()


def test_the_benchmarks_need_nothing_outside_the_repository():
    for path in (ROOT / "benchmarks").rglob("*"):
        if path.suffix in (".py", ".c"):
            text = path.read_text(encoding="utf-8")
            assert "../shared" not in text, path
            assert '"shared"' not in text, path
    assert str(ROOT / "benchmarks") not in sys.path
