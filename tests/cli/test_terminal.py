"""The terminal: progress for those who watch, and nothing of it in a pipe."""

import sys

import pytest

from pulseboard.cli import terminal
from pulseboard.core.note import Note


def watched(monkeypatch):
    """Makes standard error an interactive terminal, and returns a clock that the test sets."""
    now = [0.0]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    monkeypatch.setenv("TERM", "xterm")
    return now


def test_a_long_load_shows_progress(monkeypatch, capsys):
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


def test_there_is_no_progress_bar_in_a_pipe(capsys):
    with terminal.loading() as progress:
        assert progress is None
    assert capsys.readouterr().err == ""


def test_lines_in_a_pipe_are_not_truncated(capsys):
    table = terminal.table("run", "size")
    table.add_row("x" * 500, "1 B")
    terminal.console().print(table)
    assert "x" * 500 in capsys.readouterr().out


def test_notes_say_what_and_where(capsys):
    terminal.print_notes([Note("damage", "Skipped 1 record.", "/logs/a[b]", 40), Note("info", "Torn.", "/logs/c")])
    out, err = capsys.readouterr()
    assert (out, err) == ("", "note  Skipped 1 record. Byte 40 of /logs/a[b]\n")


@pytest.mark.parametrize("width", [60, 70, 80])
def test_a_narrow_terminal_drops_columns_but_never_the_name(monkeypatch, width):
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


@pytest.mark.parametrize("tty", [False, True])
def test_a_terminal_never_acts_on_a_name_or_tag(pulseboard, tmp_path, tty, monkeypatch):
    bad = "loss\x1b]0;owned\x07\x9b2J\r\n\u202eevil"
    directory = tmp_path / bad.replace("/", "")
    directory.mkdir()
    (directory / "log.csv").write_text(f'step,"{bad}"\n0,1\n1,2\n'.replace("\r\n", ""), encoding="utf-8")
    (directory / "metrics.json").write_text(
        '{"step": 1, "loss\\u001b[31m\\n": 1}\n{"step": 2, "loss\\u001b[31m\\n": 2}\n'
    )
    if tty:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for command in (("ls",), ("show",), ("show", "-c"), ("diagnose",), ("du",)):
        ran = pulseboard(*command, tmp_path)
        for text in (ran.out, ran.err):
            assert not set(text) & set("\x07\r\x9b\u202e"), command
            # Colors of our own come only on a terminal, and never from a name.
            assert "\x1b]" not in text, command
            assert "\x1b[31m" not in text, command
        assert all(line.count("owned") <= 1 for line in ran.out.splitlines())
    ran = pulseboard("show", tmp_path, "-r", "no\x1b[2J such run")
    assert "\x1b" not in ran.err


def test_printable_names_are_one_line_and_keep_their_length():
    assert terminal.printable("a\nb\x1b[0m é漢\t") == "a␊b␛[0m é漢␉"
