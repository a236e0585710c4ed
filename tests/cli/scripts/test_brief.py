"""`--brief`: one line per thing, cells separated by tabs, on every command that reads."""

import pytest

from pulseboard.cli import commands

# Those that go on, or whose output is what another program prints.
OTHERS = {"serve", "demo", "mcp", "skill", "alerts", "run", "completion"}
COMMANDS = [name for name in commands.module_names() if name not in OTHERS]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_brief_and_json_but_not_both(pulseboard, name):
    out = pulseboard(name, "--help").out
    assert "--brief" in out
    assert "--json" in out
    first = "check" if name == "db" else "."
    both = pulseboard(name, first, "--brief", "--json")
    assert both.code == 2
    assert "not allowed with argument" in both.err


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["ls"], "sweep/lr=0.1\t5\t1\t1\t2023-11-14 22:13"),
        (["show", "-t", "rate"], "baseline\ttrain/rate\t100\t0.25\t0.25\t0.5\t198"),
        (["diagnose", "-r", "sweep/lr=0.1"], "sweep/lr=0.1\tnot enough data"),
        (["diagnose", "-r", "baseline"], "baseline\t"),
        (["du"], "empty\t0"),
        (["archive", "-r", "sweep/lr=0.1", "--to", "archive"], "sweep/lr=0.1\t"),
    ],
)
def test_brief_prints_one_line_per_thing(pulseboard, runs, args, expected):
    ran = pulseboard(args[0], runs, *args[1:], "--brief")
    lines = ran.out.splitlines()
    assert any(line.startswith(expected) for line in lines), ran.out
    assert all(line and not line.startswith(" ") for line in lines)


def test_brief_of_explain_is_a_slug_and_a_sentence(pulseboard):
    (line,) = pulseboard("explain", "loss-nan", "--brief").out.splitlines()
    assert line.startswith("loss-nan\tA loss is ")
    assert len(pulseboard("explain", "--brief").out.splitlines()) > 50


def test_a_line_break_in_a_name_stays_in_its_cell(pulseboard, tmp_path):
    from log_directories import write_run

    write_run(tmp_path / "a\nb\tc", (0, 1.0))
    (line,) = pulseboard("ls", tmp_path, "--brief").out.splitlines()
    assert line.split("\t")[0] == "a␊b␉c"
