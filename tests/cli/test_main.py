"""The command as a whole: help that teaches, errors that say what to do, and pipes that may close."""

import json
import os
import re
import subprocess
import sys

import pytest
from builders import event_file, scalars, version
from log_directories import write_run

import pulseboard as pb
from pulseboard.cli import commands

COMMANDS = list(commands.module_names())
# Those that read a log, print what is in it and end. `serve` and `mcp` keep running, others read none; `push` and `db`
# need a database.
READING = [
    name
    for name in COMMANDS
    if name not in ("serve", "explain", "demo", "mcp", "skill", "doctor", "completion", "db", "push", "alerts", "run")
]
# Arguments a command requires, in addition to the path.
NEEDED = {"archive": ["--to", "archive"], "import": ["imported"], "gate": ["--against", "."]}


def command(*args, **options):
    """The command as a process of its own."""
    return subprocess.run([sys.executable, "-m", "pulseboard", *map(str, args)], capture_output=True, **options)


# ---- help


def test_the_commands_are_the_documented_ones():
    assert {"ls", "show", "export", "import", "du", "archive"} <= set(COMMANDS)


def test_no_command_in_a_directory_without_logs_prints_the_list_of_commands(pulseboard, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = pulseboard()
    assert ran.code == 0
    for name in COMMANDS:
        assert re.search(rf"^    {name}\s+\w", ran.out, re.MULTILINE), name
    assert "PATH is a log directory" in ran.out
    assert "pulseboard ls runs/" in ran.out


@pytest.mark.parametrize("name", READING)
def test_the_help_of_a_command_has_examples(pulseboard, name):
    ran = pulseboard(name, "--help")
    assert ran.code == 0
    assert "PATH" in ran.out
    assert "log directory, log file, URL, pattern, or name:path" in ran.out
    assert "--json" in ran.out
    assert re.search(rf"^  pulseboard {name} ", ran.out, re.MULTILINE), "no example"


@pytest.mark.parametrize("name", READING)
def test_the_options_in_a_commands_examples_exist(pulseboard, name):
    out = pulseboard(name, "--help").out
    usage = out.split("\n\n")[0] + out[out.rindex("options:") :]
    examples = re.findall(r"^  pulseboard .*", out, re.MULTILINE)
    for option in {word for example in examples for word in example.split() if re.match(r"--?[a-z]", word)}:
        assert option in usage, option


def test_the_version_is_that_of_the_package(pulseboard):
    assert pulseboard("--version").out == f"pulseboard {pb.__version__}\n"


# ---- errors


@pytest.mark.parametrize("name", READING)
@pytest.mark.parametrize("json_", [[], ["--json"]])
def test_a_missing_path_ends_with_code_2_and_a_clear_sentence(pulseboard, tmp_path, name, json_):
    ran = pulseboard(name, tmp_path / "nowhere", *NEEDED.get(name, []), *json_)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"pulseboard: Cannot read the log: no such file or directory. Check the path: {tmp_path / 'nowhere'}\n"
    )


@pytest.mark.parametrize("name", READING)
def test_an_unknown_run_suggests_similar_names(pulseboard, runs, name):
    ran = pulseboard(name, runs, "-r", "basline", *NEEDED.get(name, []))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "pulseboard: No run named 'basline'. Nearest: 'baseline'.\n"


@pytest.mark.parametrize("name", READING)
def test_an_invalid_regular_expression_for_runs_is_reported(pulseboard, runs, name):
    ran = pulseboard(name, runs, "-r", "lr(", *NEEDED.get(name, []))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("pulseboard: Invalid regular expression 'lr(': ")
    assert "Escape special characters" in ran.err


@pytest.mark.parametrize("name", ["show", "export"])
def test_an_invalid_regular_expression_for_tags_is_reported(pulseboard, runs, name):
    ran = pulseboard(name, runs, "-t", "[")
    assert (ran.code, ran.out) == (2, "")
    assert "Invalid regular expression '['" in ran.err


@pytest.mark.parametrize("args", [["ls"], ["ls", "x", "--nonsense"], ["export", "x", "-f", "xml"]])
def test_a_wrong_call_ends_with_code_2_and_the_usage(pulseboard, args):
    ran = pulseboard(*args)
    assert ran.code == 2
    assert "usage: pulseboard" in ran.err


@pytest.mark.parametrize("name", READING)
def test_an_os_error_ends_with_code_2_and_no_traceback(pulseboard, runs, monkeypatch, name):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied", "/closed")

    monkeypatch.setattr("pulseboard.cli.options.read", refuse)
    monkeypatch.setattr("pulseboard.cli.options.read", refuse)
    ran = pulseboard(name, runs, *NEEDED.get(name, []))
    assert (ran.code, ran.out, ran.err) == (2, "", "pulseboard: Permission denied. /closed\n")


@pytest.mark.parametrize("name", READING)
def test_an_interrupt_ends_with_its_own_code_and_no_traceback(pulseboard, runs, monkeypatch, name):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("pulseboard.cli.options.read", interrupt)
    monkeypatch.setattr("pulseboard.cli.options.read", interrupt)
    ran = pulseboard(name, runs, *NEEDED.get(name, []))
    assert (ran.code, ran.out, ran.err) == (130, "", "\n")


# ---- processes and pipes


def test_python_m_pulseboard_is_the_command(runs):
    done = command("ls", runs, "--json")
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["runs"]) == 6


@pytest.mark.parametrize("args", [["ls"], ["show", "-r", "run"], ["export"], ["ls", "--json"], ["du"]])
def test_a_pipe_that_closes_early_ends_the_command_quietly(tmp_path, args):
    for i in range(300):
        write_run(tmp_path / f"run{i:03}", *((step, 1.0) for step in range(20)))
    with subprocess.Popen(
        [sys.executable, "-m", "pulseboard", args[0], str(tmp_path), *args[1:]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.read(10)
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(30) in (0, 1)
    assert err == b""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("args", [["ls"], ["show"], ["show", "--chart"], ["du"], ["ls", "--json"], ["export"]])
def test_characters_a_terminal_cannot_show_are_escaped(tmp_path, encoding, args):
    write_run(tmp_path / "漢字😀", (0, 1.0), (1, 2.0))
    done = command(args[0], tmp_path, *args[1:], env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"})
    assert (done.returncode, done.stderr) == (0, b"")
    if "--json" in args:
        assert json.loads(done.stdout)["runs"][0]["run"] == "漢字😀"


@pytest.mark.parametrize("args", [["ls"], ["show"], ["du"], ["ls", "--json"], ["show", "--json"], ["export"]])
def test_a_directory_name_that_is_not_utf8_works(tmp_path, args):
    directory = os.fsencode(tmp_path) + b"/run\xff"
    os.mkdir(directory)
    with open(directory + b"/x.tfevents", "wb") as stream:
        stream.write(event_file(version(), *scalars("loss", (0, 2.5))))
    done = command(args[0], tmp_path, *args[1:])
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"run\xff" in done.stdout.replace(rb"\\", b"\\")
    if "--json" in args:
        json.loads(done.stdout)
