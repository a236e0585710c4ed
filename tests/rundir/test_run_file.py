"""run.json and module_tree.json: read within limits, written in one piece."""

import json
import math
import os
from types import SimpleNamespace

import pytest

from pulseboard.core.module_tree import Module, ModuleTree, Parameter
from pulseboard.rundir import modules_file, run_file
from pulseboard.rundir.run_file import RunFile, RunFileWriter, find_run_file, read_run_file
from pulseboard.rundir.small_file import UnreadableFile


def write(directory, text):
    (directory / "run.json").write_text(text)


def test_the_fields_are_typed(tmp_path):
    fields = {"id": "a", "status": "running", "started": 1, "heartbeat": 2.5, "world_size": 4, "config": {"lr": 0.1}}
    write(tmp_path, json.dumps({**fields, "tags": ["x"], "notes": "n", "resumed": [1.5], "host": "h"}))
    found = read_run_file(tmp_path)
    assert (found.id, found.status, found.started, found.heartbeat, found.world_size) == ("a", "running", 1, 2.5, 4)
    assert (found.config, found.tags, found.notes, found.resumed) == ({"lr": 0.1}, ("x",), "n", (1.5,))
    assert (found.ended, found.last_active, found.fields["host"]) == (None, 2.5, "h")


def test_fields_of_the_wrong_type_count_as_missing(tmp_path):
    fields = {"id": 1, "status": [], "started": "now", "heartbeat": True, "world_size": 2.5, "config": [], "tags": "x"}
    write(tmp_path, json.dumps(fields))
    assert read_run_file(tmp_path) == RunFile(fields=fields)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("[1]", "must hold a JSON object"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_a_bad_run_file_is_an_error_that_says_why(tmp_path, text, reason):
    write(tmp_path, text)
    with pytest.raises(UnreadableFile, match=f"run.json cannot be read: .*{reason}.*{tmp_path}"):
        read_run_file(tmp_path)
    assert find_run_file(tmp_path) is None


def test_a_missing_file_is_an_error_that_says_so(tmp_path):
    with pytest.raises(UnreadableFile, match="No such file or directory"):
        read_run_file(tmp_path / "absent")


def test_a_symbolic_link_is_not_followed(tmp_path):
    (tmp_path / "secret.json").write_text('{"config": {"password": "x"}}')
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(UnreadableFile, match="it is a symbolic link"):
        read_run_file(tmp_path / "run")
    assert read_run_file(tmp_path / "run", trusted=True).config == {"password": "x"}


def test_a_link_to_the_runs_directory_is_followed(tmp_path):
    (tmp_path / "run").mkdir()
    write(tmp_path / "run", '{"id": "a"}')
    (tmp_path / "link").symlink_to(tmp_path / "run")
    assert read_run_file(tmp_path / "link").id == "a"


def test_a_named_pipe_is_refused_without_waiting_for_a_writer(tmp_path):
    os.mkfifo(tmp_path / "run.json")
    with pytest.raises(UnreadableFile, match="not a regular file"):
        read_run_file(tmp_path)


def test_a_file_above_the_limit_is_refused_unless_it_is_our_own(tmp_path, monkeypatch):
    monkeypatch.setattr(run_file, "MAX_BYTES", 1 << 20)
    text = json.dumps({"notes": "x" * (1 << 20)})
    write(tmp_path, text)
    with pytest.raises(UnreadableFile, match="larger than 1 MiB"):
        read_run_file(tmp_path)
    assert len(read_run_file(tmp_path, trusted=True).notes) == 1 << 20
    monkeypatch.setattr(run_file, "MAX_BYTES", len(text))
    assert len(read_run_file(tmp_path).notes) == 1 << 20


def test_the_writer_keeps_fields_it_does_not_know(tmp_path):
    write(tmp_path, '{"id": "a", "future": 1}')
    writer = RunFileWriter(tmp_path)
    writer.update(status="running", config={"nan": math.nan, "set": {1}, "object": SimpleNamespace(a=1), "type": int})
    written = json.loads((tmp_path / "run.json").read_text())
    assert (written["id"], written["future"], written["status"]) == ("a", 1, "running")
    assert written["config"] == {"nan": "nan", "set": [1], "object": {"a": 1}, "type": "<class 'int'>"}
    assert os.listdir(tmp_path) == ["run.json"]


def test_modules_are_read_as_they_were_written(tmp_path):
    parameter = Parameter(name="weight", shape=(2, 3), dtype="float32", trained=True, tied_to=None)
    tree = ModuleTree(
        modules=(Module("", "Linear", (parameter,)),),
        parameters=6,
        trained_parameters=6,
        left_out_modules=0,
        left_out_parameters=0,
    )
    assert not modules_file.has_modules_file(tmp_path)
    assert modules_file.read_modules(tmp_path) == []
    modules_file.write_modules(tmp_path, [tree])
    assert modules_file.has_modules_file(tmp_path)
    assert modules_file.read_modules(tmp_path) == [tree]
