"""The reading benchmark as a smoke test, and the Markdown sections that benchmarks write."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = REPOSITORY.parent / "shared" / "bench"


def run_benchmark(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-W", "error", str(REPOSITORY / "benchmarks" / "read.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=180)


@pytest.fixture(scope="module")
def report() -> ModuleType:
    spec = importlib.util.spec_from_file_location("report", REPOSITORY / "benchmarks" / "report.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["report"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(
    not SHARED.is_dir(), reason="the logs are made by ../shared/bench, which is not beside this checkout"
)
def test_the_quick_benchmark_measures_every_subject_and_writes_its_section(tmp_path):
    page = tmp_path / "benchmarks.md"
    done = run_benchmark("--quick", "--write", str(page))
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    for subject in ("What is owed", "Speed and memory", "Many runs", "Following", "Exporting"):
        assert f"### {subject}\n" in text
    assert "`python benchmarks/read.py --quick --write benchmarks.md`" in text
    assert str(tmp_path) not in text


def test_without_the_scripts_that_make_the_logs_the_benchmark_says_so_and_fails(tmp_path):
    done = run_benchmark("--quick", "--shared", str(tmp_path))
    assert done.returncode == 2
    assert "make_logs.py" in done.stderr
    assert not done.stdout


def test_a_section_is_replaced_and_the_rest_of_the_page_stays(tmp_path, report):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- read:begin -->\nold\n<!-- read:end -->\nafter\n")
    report.write_section(page, name="read", body="new")
    assert page.read_text() == "before\n<!-- read:begin -->\n\nnew\n\n<!-- read:end -->\nafter\n"


def test_a_second_benchmark_adds_its_own_section(tmp_path, report):
    page = tmp_path / "page.md"
    report.write_section(page, name="read", body="reading")
    report.write_section(page, name="write", body="writing")
    report.write_section(page, name="read", body="reading again")
    text = page.read_text()
    assert text.startswith("# Benchmarks\n")
    assert "reading again" in text
    assert text.count("<!-- read:begin -->") == 1
    assert text.index("reading again") < text.index("writing")


@pytest.mark.parametrize(
    "text", ["<!-- read:begin -->\n", "<!-- read:end -->\n", "<!-- read:end --><!-- read:begin -->"]
)
def test_a_page_with_broken_marks_is_left_as_it_is(tmp_path, report, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(report.BrokenMarks):
        report.write_section(page, name="read", body="new")
    assert page.read_text() == text
