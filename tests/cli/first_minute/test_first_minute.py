"""What a new user meets: `pulseboard` without arguments, and the mistakes that are likely."""

import os
import re
import subprocess
import sys
import time

import pytest
from log_directories import write_run

from pulseboard.cli import advice
from pulseboard.cli.nearby_logs import find_logs


def served(directory, *args, until, seconds=300, env=None):
    """Run the dashboard in a directory until its output matches; the output so far."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pulseboard", *args],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PULSEBOARD_DATA_DIR": str(directory / "data"), **(env or {})},
    )
    lines, ends = [], time.monotonic() + seconds
    try:
        while time.monotonic() < ends and (line := process.stdout.readline()):
            lines.append(line)
            if re.search(until, line):
                break
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()
    return "".join(lines)


@pytest.fixture
def empty(tmp_path):
    """A directory to work in, below one that has nothing else."""
    made = tmp_path / "work"
    made.mkdir()
    return made


def test_without_arguments_the_logs_below_are_served(empty):
    write_run(empty / "runs" / "first", (0, 1.0), (1, 0.5))
    out = served(empty, until="1 run,")
    assert "Found logs in runs\n" in out
    assert "Pulseboard is at http://localhost:" in out
    assert "1 run, 2 points" in out


def test_logs_are_found_by_name_and_other_directories_are_left_out(empty):
    write_run(empty / "a" / "deep" / "run", (0, 1.0))
    write_run(empty / "node_modules" / "run", (0, 1.0))
    (empty / "b" / "mlruns").mkdir(parents=True)
    (empty / "src").mkdir()
    (empty / "src" / "data.csv").write_text("step,loss\n0,1\n")
    assert [os.path.basename(path) for path in find_logs(str(empty))] == ["a", "b"]


def test_a_directory_that_is_a_run_is_served_itself(empty):
    write_run(empty, (0, 1.0))
    assert find_logs(str(empty)) == [str(empty)]


def test_an_answer_to_the_offer_starts_the_demo_or_prints_the_help(pulseboard, empty, monkeypatch):
    monkeypatch.chdir(empty)
    started = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("pulseboard.cli.commands.view.demo.run", lambda args: started.append(args) or 0)
    monkeypatch.setattr("builtins.input", lambda prompt: "n")
    ran = pulseboard()
    assert "No logs found below" in ran.err
    assert "COMMAND" in ran.out
    assert started == []
    monkeypatch.setattr("builtins.input", lambda prompt: "")
    assert pulseboard().code == 0
    assert len(started) == 1


# ---- the wrong directory


def test_a_misspelled_directory_gets_a_suggestion(pulseboard, empty, monkeypatch):
    monkeypatch.chdir(empty)
    (empty / "runs").mkdir()
    ran = pulseboard("rnus")
    assert ran.code == 2
    assert "There is no command and no directory called 'rnus'. Did you mean runs?" in ran.err
    assert pulseboard("ls", "rnus").err.endswith("Did you mean runs?\n")
    assert "Did you mean runs?" in served(empty, "rnus/", until="Did you mean")


def test_a_misspelled_command_gets_a_suggestion(pulseboard, empty, monkeypatch):
    monkeypatch.chdir(empty)
    assert "The nearest commands: diagnose" in pulseboard("diagnos").err


# ---- nothing in it, or not allowed


def test_an_empty_directory_says_so_and_names_the_demo(empty):
    (empty / "runs").mkdir()
    out = served(empty, "runs", until="pulseboard demo")
    assert f"It is empty: {empty / 'runs'}" in out
    assert "To see it work first: pulseboard demo" in out


def test_a_directory_without_logs_names_a_neighbor_that_has_some(empty):
    write_run(empty / "runs" / "first", (0, 1.0))
    (empty / "code").mkdir()
    (empty / "code" / "train.py").write_text("")
    assert advice.on_empty([str(empty / "code")]) == [
        f"No event files or other supported logs in {empty / 'code'}",
        f"There are logs in {empty / 'runs'}",
    ]


def test_a_directory_that_may_not_be_read_says_so(empty, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may read everything
    assert advice.on_empty([str(empty)]) == [f"You have no permission to read it: ls -ld {empty}"]


# ---- the port, and other machines


def test_a_port_in_use_names_the_option(empty):
    import socket

    (empty / "runs").mkdir()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        out = served(empty, "runs", "--port", str(port), until="in use")
    assert out == f"pulseboard: Port {port} is in use. Choose another with --port PORT, or leave --port out.\n"


def test_an_address_of_another_machine_is_explained(empty):
    (empty / "runs").mkdir()
    out = served(empty, "runs", "--host", "192.0.2.1", until="Cannot listen")
    assert "use --bind_all" in out
    assert "ssh://HOST/PATH" in out


@pytest.mark.parametrize(
    ("given", "meant"),
    [("gpu1:/data/runs", "ssh://gpu1/data/runs"), ("me@gpu1:/data/runs", "ssh://me@gpu1/data/runs")],
)
def test_the_notation_of_scp_is_explained(given, meant):
    assert meant in advice.on_missing(given)
