"""One run of every subject: what it measured is kept if it is cut off, and the rest is named at the top of the page."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.harness import command
from benchmarks.harness.command import Benchmark, measure_selected
from benchmarks.harness.report import Part, at_least
from benchmarks.harness.sampling import ToolFailed

ROOT = Path(__file__).parents[2]


class Subject:
    """A benchmark of three parts that counts what it measures; `second` is what measuring the second one does."""

    def __init__(self):
        self.measured = []
        self.second = lambda: None
        self.benchmark = Benchmark(name="subject", title="Subject", packages=(), description=None, measure=self.measure)

    def part(self, name, work):
        work()
        self.measured.append(name)
        return Part(name, f"text of {name}", [at_least(f"{name}: figure", 1.0, 2.0)], {"samples": [1.0]})

    def measure(self, options, quiet):
        parts = {
            "first": lambda: self.part("first", lambda: quiet.others.append(0.25)),
            "second": lambda: self.part("second", self.second),
            "third": lambda: self.part("third", lambda: None),
        }
        return measure_selected(self.benchmark, parts, options)


@pytest.fixture
def subject(tmp_path, monkeypatch):
    for name in ("BENCH", "LOGS", "QUICK_LOGS", "WORK"):
        monkeypatch.setattr(command, name, tmp_path / name)
    monkeypatch.setattr(command.compileall, "compile_dir", lambda *_, **__: None)
    monkeypatch.setattr(command, "interrupt_when_ended", lambda: None)
    return Subject()


@pytest.fixture
def page(tmp_path):
    file = tmp_path / "page.md"
    file.write_text("# Page\n<!-- missed:begin -->\n<!-- missed:end -->\n")
    return file


def interrupt():
    raise KeyboardInterrupt


def fail():
    raise ToolFailed("the peer ended with 1")


def test_an_interrupted_run_writes_what_it_measured_and_names_the_rest(subject, page):
    subject.second = interrupt
    assert subject.benchmark.main(["--write", str(page)]) == 130
    text = page.read_text()
    assert "text of first" in text
    assert "- subject: first: figure: 1.0, target at least 2" in text
    assert "- subject: not measured: second: interrupted" in text
    assert "- subject: not measured: third: interrupted" in text


def test_a_resumed_run_measures_only_the_rest(subject, page):
    subject.second = interrupt
    subject.benchmark.main(["--write", str(page)])
    subject.second = lambda: None
    assert subject.benchmark.main(["--resume", "--write", str(page)]) == 0
    assert subject.measured == ["first", "second", "third"]
    text = page.read_text()
    assert "not measured: " not in text.lower()
    assert "interrupted" not in text
    assert text.index("text of first") < text.index("text of second") < text.index("text of third")
    assert "0.25 in the worst" in text


def test_parts_of_other_options_or_of_another_commit_are_measured_again(subject, page, monkeypatch):
    subject.benchmark.main([])
    subject.benchmark.main(["--resume", "--repeat", "2"])
    assert subject.measured == ["first", "second", "third"] * 2
    monkeypatch.setattr(command.setting, "commit", lambda: "another")
    subject.benchmark.main(["--resume", "--repeat", "2"])
    assert subject.measured == ["first", "second", "third"] * 3


def test_a_run_without_resume_begins_again(subject):
    subject.benchmark.main([])
    subject.benchmark.main([])
    assert subject.measured == ["first", "second", "third"] * 2


@pytest.mark.parametrize(("error", "reason"), [(fail, "the peer ended with 1"), (lambda: 1 / 0, "division by zero")])
def test_a_part_that_fails_leaves_the_others(subject, page, error, reason):
    subject.second = error
    assert subject.benchmark.main(["--write", str(page)]) == 1
    assert subject.measured == ["first", "third"]
    assert f"- subject: not measured: second: {reason}" in page.read_text()


def test_a_part_alone_leaves_what_is_kept_of_all(subject, tmp_path):
    subject.benchmark.main([])
    subject.benchmark.main(["--only", "second"])
    kept = json.loads((tmp_path / "BENCH" / "subject.json").read_text())
    assert list(kept["parts"]) == ["first", "second", "third"]


def test_what_a_benchmark_starts_can_be_ended_though_a_shell_started_it_in_the_background():
    """Such a shell ignores SIGINT, which every program that it starts inherits."""
    code = """
import signal, subprocess, sys
from benchmarks.harness.command import Benchmark
def measure(options, quiet):
    with subprocess.Popen(["sleep", "60"]) as process:
        process.terminate()
    return []
sys.exit(Benchmark(name="x", title="X", packages=(), description=None, measure=measure).main(["--quick"]))
"""
    command = f"trap '' INT; exec {sys.executable} -c '{code}'"
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def run_everything(run_benchmark, page):
    def run(*arguments):
        return run_benchmark("benchmarks.everything", "--quick", "--write", str(page), *arguments)

    return run


def test_a_run_of_everything_shows_the_time_left_and_writes_the_page(run_everything, page):
    done = run_everything("--subjects", "diagnose")
    assert done.returncode == 0, done.stderr
    assert "[0:0" in done.stderr
    assert "min left] diagnose: live" in done.stderr
    text = page.read_text()
    assert "1 of 10 subjects." in text
    assert "diagnosed after reading" in text
    resumed = run_everything("--subjects", "diagnose", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert "diagnose: live" not in resumed.stderr


def test_a_run_whose_time_is_over_says_what_is_missing(run_everything, page):
    done = run_everything("--subjects", "diagnose,charts", "--minutes", "0")
    assert done.returncode == 1, done.stderr
    text = page.read_text()
    for name in ("diagnose", "charts"):
        assert f"- run: not measured: {name}, or not all of it: the time was over" in text


def test_a_subject_that_there_is_not_is_an_error(run_everything):
    done = run_everything("--subjects", "reed")
    assert done.returncode == 2
    assert "no subject 'reed'; there are read, write," in done.stderr


def test_ending_the_run_ends_the_subject_that_it_is_at(tmp_path, page):
    command = [sys.executable, "-m", "benchmarks.everything", "--write", str(page), "--subjects", "alerts"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert "alerts: delay" in process.stderr.readline()
        process.terminate()
        assert process.wait(50) == 130
    assert "- run: not measured: alerts, or not all of it: interrupted" in page.read_text()
    assert "- alerts: not measured: delay: interrupted" in page.read_text()
