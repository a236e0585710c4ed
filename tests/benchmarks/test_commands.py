"""Every command of `make bench` starts, and `python -m benchmarks` lists them all."""

import re
from pathlib import Path

import pytest
from benchmarks.everything import SUBJECTS

ROOT = Path(__file__).parents[2]


def test_one_run_has_every_benchmark():
    files = [*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "benchmarks").glob("*/__main__.py")]
    named = (re.search(r'^BENCHMARK = Benchmark\(\s*name="(\w+)"', file.read_text(), re.MULTILINE) for file in files)
    assert sorted(SUBJECTS) == sorted(found[1] for found in named if found)


def test_make_bench_starts_that_run():
    assert "python -m benchmarks.everything --write docs/benchmarks.md" in (ROOT / "Makefile").read_text()


def test_the_list_has_a_line_for_each_command(run_benchmark):
    done = run_benchmark("benchmarks")
    assert done.returncode == 0, done.stderr
    listed = re.findall(r"^  (\w+) +\S", done.stdout, re.MULTILINE)
    assert sorted(listed) == sorted([*SUBJECTS, "compare", "everything", "kills", "versions"])


@pytest.mark.parametrize("name", SUBJECTS)
def test_it_starts(run_benchmark, name):
    done = run_benchmark(f"benchmarks.{name}", "--help")
    assert done.returncode == 0, done.stderr
    assert "--write" in done.stdout
    assert "--quick" in done.stdout


def test_two_checkouts_are_compared_task_by_task(monkeypatch, capsys, tmp_path):
    from benchmarks import versions

    monkeypatch.setattr(versions, "make_sets", lambda *_, **__: None)
    monkeypatch.setattr(versions, "_TASKS", {"count": "sum(range(200_000))"})
    monkeypatch.setattr(
        "sys.argv", ["versions", str(ROOT), str(ROOT), "--repeat", "3", "--write", str(tmp_path / "r.md")]
    )
    assert versions.main() == 0
    (ratio,) = re.findall(r"([\d.]+)  count", capsys.readouterr().out)
    assert float(ratio) > 0
    assert "| count" in (tmp_path / "r.md").read_text()
