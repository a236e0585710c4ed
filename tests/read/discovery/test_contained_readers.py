"""Readers of all formats open files in one way, which refuses pipes and links that lead out of the log directories."""

import ast
import os
from pathlib import Path

import pytest
from log_directories import write_run
from other_formats import written

import pulseboard
from pulseboard.read.config.sources import run_file_of
from pulseboard.read.discovery.log_directory import LogDirectory, log_directories_from
from pulseboard.read.runs import Runs
from pulseboard.rundir.regular_file import staying_within

ROOT = Path(pulseboard.__file__).parent / "read"
SAMPLES = Path(__file__).resolve().parents[1] / "formats" / "samples"
SOURCES = sorted(path for folder in ("formats", "parsing") for path in (ROOT / folder).rglob("*.py"))


def point_count(runs):
    return sum(run.points for run in runs.of_other_formats())


@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.iterdir()))
def test_nothing_is_read_of_what_turns_out_to_be_outside(sample, tmp_path):
    """The files were listed, and are outside when they are opened: as if a directory had become a link in between."""
    inside = Runs([LogDirectory(str(SAMPLES / sample), within=(str(SAMPLES),))])
    inside.refresh()
    assert point_count(inside) > 0
    outside = Runs([LogDirectory(str(SAMPLES / sample), within=(str(tmp_path),))])
    outside.refresh()
    assert point_count(outside) == 0


def test_a_table_in_a_directory_that_became_a_link_is_not_read(tmp_path):
    logs, outside = tmp_path / "logs", tmp_path / "outside"
    written(logs / "run" / "metrics.csv", "step,loss\n0,1.0\n1,2.0\n")
    written(outside / "metrics.csv", "step,secret\n0,666.0\n1,666.0\n2,667.0\n")
    runs = Runs(log_directories_from([logs], links_out=False))
    runs.refresh()
    (file,) = runs._parsed_files.files.values()
    (found,) = runs._parsed_files._found.values()
    os.rename(logs / "run", tmp_path / "moved-away")
    os.symlink(outside, logs / "run")
    with staying_within((str(logs),)):
        file.load((found._replace(size=found.size + 1),))
    assert not file.runs
    assert any("leads out" in note.what for note in file.notes())


def test_the_config_of_a_directory_that_became_a_link_is_not_read(tmp_path):
    written(tmp_path / "outside" / "run.json", '{"schema": 1, "config": {"secret": 666}}')
    write_run(tmp_path / "logs" / "run", (0, 1.0))
    runs = Runs(log_directories_from([tmp_path / "logs"], links_out=False))
    runs.refresh()
    os.rename(tmp_path / "logs" / "run", tmp_path / "moved-away")
    os.symlink(tmp_path / "outside", tmp_path / "logs" / "run")
    assert run_file_of(runs["run"]).config == {"secret": 666}
    with runs.contained():
        assert run_file_of(runs["run"]).config == {}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_reader_opens_a_file_in_another_way(path):
    calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    names = {call.id if isinstance(call, ast.Name) else getattr(call, "attr", "") for call in calls}
    assert names.isdisjoint({"open", "read_text", "read_bytes", "fdopen", "fromfile", "loadtxt", "memory_map"})
