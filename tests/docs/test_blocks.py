"""Every code block in the documentation is run, parsed, or accepted by the command line."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pulseboard.cli.main import full_parser

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "deploy" / "README.md", *(ROOT / "docs").rglob("*.md")])
LANGUAGES = {"bash", "json", "python", "text", "toml", "yaml"}
# Where the Python of a page is run.
RUN_BY = {
    "README.md": "test_docs.py",
    "docs/getting-started.md": "test_docs.py",
    "docs/guides/logging.md": "test_docs.py",
    "docs/guides/reading.md": "test_docs.py",
    "docs/guides/serving.md": "test_docs.py",
    "docs/guides/diagnosis.md": "test_diagnosis_guide.py",
    "docs/guides/instruments.md": "test_blocks.py",
    "docs/guides/integrations.md": "../integrations/test_docs.py",
}


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page, language=r"\w*"):
    """Language and text of each fenced block."""
    return re.findall(rf"^```({language})\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(page):
    """Lines that call `pulseboard`, in fenced and indented blocks."""
    text = page.read_text(encoding="utf-8")
    lines = [line for _, block in blocks(page, "bash") for line in block.replace("\\\n", " ").splitlines()]
    lines += re.findall(r"^    (pulseboard .*)$", text, re.MULTILINE)
    for line in lines:
        # What follows a pipe, a redirection or another command is the shell's.
        for part in re.split(r"&&|\||;|>", line.partition(" #")[0]):
            words = shlex.split(part)
            if words[:1] == ["pulseboard"]:
                yield words[1:]


def subcommands():
    (actions,) = (one for one in full_parser()._actions if one.choices and isinstance(one.choices, dict))
    return set(actions.choices)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_is_accepted(page, capsys):
    known = subcommands()
    for words in commands(page):
        given = words if words and words[0] in known else ["serve", *words]
        try:
            full_parser().parse_args(given)
        except SystemExit:
            pytest.fail(f"{name_of(page)}: pulseboard {' '.join(words)}\n{capsys.readouterr().err}")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_data_parses(page):
    import yaml

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    parse = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}
    for language, text in blocks(page):
        assert not language or language in LANGUAGES, f"{name_of(page)}: {language}"
        if language in parse:
            assert parse[language](text)


def test_the_python_of_every_page_is_run_by_a_test():
    with_python = {name_of(page) for page in PAGES if blocks(page, "python")}
    elsewhere = {name for name in with_python if name.startswith("docs/moving/")}  # all of them, in test_site.py
    assert with_python - elsewhere == RUN_BY.keys()
    for name, test in RUN_BY.items():
        assert Path(name).name in (Path(__file__).parent / test).read_text(encoding="utf-8"), name


def test_the_guide_to_instruments_runs(tmp_path):
    # In a process of its own: its last block declares an instrument.
    pytest.importorskip("torch")
    code = "\n".join(text for _, text in blocks(ROOT / "docs" / "guides" / "instruments.md", "python"))
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_rules_of_the_guide_to_alerts_are_rules(tmp_path, monkeypatch):
    from pulseboard.alerts.rules import read_rules

    monkeypatch.setenv("SLACK_URL", "slack://token")
    ((_, text),) = blocks(ROOT / "docs" / "guides" / "alerts.md", "toml")
    (tmp_path / "alerts.toml").write_text(text, encoding="utf-8")
    rules = read_rules(tmp_path / "alerts.toml")
    assert [rule.to for rule in rules.rules] == [("team",), ("pager",)]


def test_there_are_commands_on_many_pages():
    found = {name_of(page): len(list(commands(page))) for page in PAGES}
    assert sum(found.values()) > 60
    assert sum(n > 0 for n in found.values()) > 12
