"""tools/check_words.py finds retired words in prose and in identifiers, and leaves ordinary English alone."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def load_tool():
    spec = importlib.util.spec_from_file_location("check_words", ROOT / "tools" / "check_words.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


tool = load_tool()

GLOSSARY = """
# Glossary

| word | means | not |
| --- | --- | --- |
| run | one training | told |

## Words we stopped using

| stopped | write | fine |
| --- | --- | --- |
| told, tells of | reported | |
| is no, are no | is not a | there is no, is no longer |
| take up | pick up | |

## Another section

| a | b | c |
| --- | --- | --- |
| run | x | |
"""
PHRASES = tool.read_phrases(GLOSSARY)


def found(text):
    return [(hit.line, hit.found) for hit in tool.find_phrases(text, PHRASES)]


def test_only_the_table_of_retired_words_is_read():
    assert [" ".join(phrase.words) for phrase in PHRASES] == ["told", "tells of", "is no", "are no", "take up"]
    assert {phrase.replacement for phrase in PHRASES} == {"reported", "is not a", "pick up"}


def test_a_glossary_without_the_table_is_an_error():
    with pytest.raises(SystemExit, match="Words we stopped using"):
        tool.read_phrases("# Glossary\n")


@pytest.mark.parametrize(
    "text",
    [
        "it was told twice",
        "Told to stop",
        "told_paths = []",
        "paths_told: int",
        "const toldPaths = 1",
        "const pathsTold = 1",
        "class ToldPaths:",
        "TOLD = 3",
        "# x tells of y",
        "# x tells\n# of y",
        " * x tells\n * of y",
        "// x tells\n// of y",
        "this is no number",
        "def is_no_number():",
        "these are no\nnumbers",
        "there it is no use",
        "to take up the work",
    ],
)
def test_a_retired_word_is_found(text):
    assert len(found(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "untold",
        "the toldest",
        "it tells. Of course",
        "there is no number",
        "if there\n    # is no number",
        "it is no longer here",
        "is not a number",
        "No run is. No run was.",
        "takes up",
        "a taken update",
    ],
)
def test_ordinary_words_are_left_alone(text):
    assert found(text) == []


def test_a_hit_names_its_line_and_the_replacement():
    (hit,) = tool.find_phrases("one\ntwo\nwe were told\n", PHRASES)
    assert hit == tool.Hit(line=3, found="told", replacement="reported")


def test_every_hit_of_a_line_counts():
    assert found("told and told\n\nis no x") == [(1, "told"), (1, "told"), (3, "is no")]


@pytest.mark.parametrize(
    "name", ["a.py", "b/c.pyx", "web/App.svelte", "Makefile", "docs/x.md", ".github/workflows/ci.yml"]
)
def test_text_files_are_checked(name):
    assert tool.is_checked(name, skip=["docs/log.md"])


@pytest.mark.parametrize("name", ["a.png", "LICENSE", "docs/log.md", "src/diagnose/a/b.py", "package-lock.json"])
def test_other_files_and_those_left_out_are_not(name):
    assert not tool.is_checked(name, skip=["docs/log.md", "src/diagnose/*"])


def test_the_command_names_file_line_and_replacement(tmp_path, monkeypatch, capsys):
    (tmp_path / "GLOSSARY.md").write_text(GLOSSARY)
    (tmp_path / "pyproject.toml").write_text('[tool.check_words]\nskip = ["old.py"]\n')
    for name, text in {"new.py": "x = 1\ntold = 2\n", "old.py": "told = 1\n", "fine.py": "x = 1\n"}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    names = [str(tmp_path / name) for name in ("new.py", "old.py", "fine.py")]
    assert tool.main(names) == 1
    assert capsys.readouterr().out == 'new.py:2: "told"; write: reported\n'
    assert tool.main(names[1:]) == 0


def test_the_glossary_of_this_repository_can_be_read():
    words = {" ".join(phrase.words) for phrase in tool.read_phrases((ROOT / "GLOSSARY.md").read_text(encoding="utf-8"))}
    assert {"told", "beside", "is no"} <= words
