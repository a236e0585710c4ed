"""The terminal: progress for those who watch, and nothing of it in a pipe."""

import sys

import pytest

from pulseboard.cli import terminal
from pulseboard.core.note import Note


def watched(monkeypatch):
    """Makes standard error a terminal that somebody looks at; gives a clock to play."""
    now = [0.0]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    monkeypatch.setenv("TERM", "xterm")
    return now


def test_a_long_load_shows_how_far_it_is(monkeypatch, capsys):
    now = watched(monkeypatch)
    with terminal.loading() as progress:
        progress(1, 40)
        now[0] = 2.0
        progress(30, 40)
    err = capsys.readouterr().err
    assert "Reading event files" in err
    assert "30/40" in err


def test_a_short_load_shows_nothing(monkeypatch, capsys):
    now = watched(monkeypatch)
    with terminal.loading() as progress:
        progress(1, 40)
        now[0] = 0.2
        progress(40, 40)
    assert capsys.readouterr().err == ""


def test_nobody_is_shown_progress_in_a_pipe(capsys):
    with terminal.loading() as progress:
        assert progress is None
    assert capsys.readouterr().err == ""


def test_lines_in_a_pipe_are_not_cut(capsys):
    table = terminal.table("run", "size")
    table.add_row("x" * 500, "1 B")
    terminal.console().print(table)
    assert "x" * 500 in capsys.readouterr().out


def test_notes_say_where_and_what(capsys):
    terminal.print_notes([Note("damage", "Skipped 1 record.", "/logs/a[b]", 40), Note("info", "Torn.", "/logs/c")])
    out, err = capsys.readouterr()
    assert (out, err) == ("", "note  Skipped 1 record. Byte 40 of /logs/a[b]\n")


@pytest.mark.parametrize("width", [60, 70, 80])
def test_a_narrow_terminal_costs_columns_and_never_the_name(monkeypatch, width):
    import io

    from rich.console import Console

    out = io.StringIO()
    monkeypatch.setattr(terminal, "console", lambda: Console(file=out, width=width))
    made = terminal.table("tag", "points", "ran for", "curve", right=("points", "ran for"), fold=("tag",))
    made.add_row("train/a/rather/long/name", "1,234,567", "12h 30m", "▁" * 24)
    terminal.print_table(made, leave_out=("ran for", "points"))
    lines = out.getvalue().splitlines()
    assert "train/a/rather/long/name" in lines[2]
    assert ("ran for" in lines[0]) == (width == 80)
    assert ("points" in lines[0]) == (width >= 70)
    assert "curve" in lines[0]
