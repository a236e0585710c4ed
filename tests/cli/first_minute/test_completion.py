"""Completion scripts know every command and option; bash, and zsh and fish where installed, run them."""

import argparse
import shutil
import subprocess

import pytest

from pulseboard.cli import shells
from pulseboard.cli.main import full_parser

COMMANDS = shells.command_words(full_parser())


@pytest.mark.parametrize("shell", sorted(shells.SHELLS))
def test_every_command_and_flag_is_in_the_script(pulseboard, shell):
    script = pulseboard("completion", shell).out
    for command in COMMANDS[1:]:
        assert command.name in script
        for flag in command.flags:
            assert (f"-l {flag[2:]}" if shell == "fish" and flag.startswith("--") else flag.lstrip("-")) in script, flag


def completed(tmp_path, *words):
    """What bash offers for the last word."""
    script = tmp_path / "completion.bash"
    script.write_text(shells.bash(COMMANDS), encoding="utf-8")
    line = " ".join(f"'{word}'" for word in ("pulseboard", *words))
    code = f"source {script}; cd {tmp_path}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _pulseboard; "
    done = subprocess.run(
        ["bash", "--norc", "-c", code + 'printf "%s\\n" "${COMPREPLY[@]}"'], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_bash_completes_commands_flags_choices_and_paths(tmp_path):
    (tmp_path / "runs").mkdir()
    assert completed(tmp_path, "exp") == {"explain", "export"}
    assert completed(tmp_path, "ru") >= {"runs"}
    assert completed(tmp_path, "ls", "--js") == {"--json"}
    assert completed(tmp_path, "diagnose", "--fail-on", "") == {"info", "warning", "critical"}
    assert completed(tmp_path, "completion", "z") == {"zsh"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_accept_their_scripts(tmp_path, shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(shells.SHELLS[shell](COMMANDS), encoding="utf-8")
    subprocess.run([shell, "--no-execute", str(script)], check=True)


def test_commands_within_a_command_are_choices():
    parser = argparse.ArgumentParser()
    outer = parser.add_subparsers(dest="command").add_parser("db", help="databases")
    inner = outer.add_subparsers(dest="action")
    inner.add_parser("start").add_argument("--port")
    inner.add_parser("stop")
    (_, db) = shells.command_words(parser)
    assert [option.choices for option in db.options if not option.flags] == [("start", "stop")]
    assert "--port" in db.flags
