"""Fails on words that GLOSSARY.md says we stopped using: `make check`.

    python tools/check_words.py              every tracked text file
    python tools/check_words.py FILE ...     only these

The words come from the table "Words we stopped using" of GLOSSARY.md, and the files to leave out from
`[tool.check_words]` in pyproject.toml.
"""

from __future__ import annotations

import fnmatch
import itertools
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
SUFFIXES = {
    ".py",
    ".pyi",
    ".pyx",
    ".pxd",
    ".c",
    ".h",
    ".ts",
    ".svelte",
    ".html",
    ".css",
    ".md",
    ".toml",
    ".yml",
    ".yaml",
}
NAMES = {"Makefile"}

# A word of a sentence or one part of an identifier: old_paths, oldPaths and OLD_PATHS all contain "old".
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# What may stand between two words of a phrase: spaces, a line break with its comment sign, an underscore or a hyphen.
_GAP = re.compile(r"[ \t_-]*(?:\n[ \t]*(?:#|//|\*)?[ \t]*)?")


@dataclass(frozen=True)
class Phrase:
    """A word or phrase to find, in lower case, and what to write instead."""

    words: tuple[str, ...]
    replacement: str
    exceptions: tuple[tuple[str, ...], ...] = ()
    """Longer phrases that contain this one and are fine, such as "there is no"."""


@dataclass(frozen=True)
class Hit:
    """One place where a phrase was found."""

    line: int
    found: str
    replacement: str


def read_phrases(glossary: str) -> list[Phrase]:
    """The phrases in the table "Words we stopped using" of a glossary."""
    section = glossary.partition("## Words we stopped using")[2].partition("\n## ")[0]
    rows = [line.strip().strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    if len(rows) < 3:
        raise SystemExit('GLOSSARY.md has no table under "Words we stopped using".')
    phrases = []
    for stopped, replacement, fine in rows[2:]:
        exceptions = tuple(_split(fine))
        phrases += [Phrase(words, replacement.strip(), exceptions) for words in _split(stopped)]
    return phrases


def _split(cell: str) -> Iterator[tuple[str, ...]]:
    yield from (tuple(phrase.lower().split()) for phrase in cell.split(",") if phrase.strip())


def find_phrases(text: str, phrases: Iterable[Phrase]) -> list[Hit]:
    """Every use of the phrases in a text, in order."""
    tokens = list(_WORD.finditer(text))
    words = [token.group().lower() for token in tokens]
    by_first_word: dict[str, list[Phrase]] = {}
    for phrase in phrases:
        by_first_word.setdefault(phrase.words[0], []).append(phrase)

    def starts(index: int, expected: tuple[str, ...]) -> bool:
        if index < 0 or tuple(words[index : index + len(expected)]) != expected:
            return False
        inside = tokens[index : index + len(expected)]
        return all(_GAP.fullmatch(text, a.end(), b.start()) for a, b in itertools.pairwise(inside))

    def is_exception(index: int, phrase: Phrase) -> bool:
        return any(
            starts(index - offset, longer)
            for longer in phrase.exceptions
            for offset in range(len(longer) - len(phrase.words) + 1)
        )

    hits = []
    for index, word in enumerate(words):
        for phrase in by_first_word.get(word, []):
            if starts(index, phrase.words) and not is_exception(index, phrase):
                line = text.count("\n", 0, tokens[index].start()) + 1
                hits.append(Hit(line, " ".join(phrase.words), phrase.replacement))
    return hits


def tracked_files(root: Path) -> list[Path]:
    """The files that git tracks, or would track after `git add`."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    return [path for path in (root / name for name in listing.stdout.split("\0") if name) if path.is_file()]


def is_checked(name: str, *, skip: Iterable[str]) -> bool:
    """Whether the check covers the file of this name, given the patterns to leave out."""
    path = Path(name)
    return (path.suffix in SUFFIXES or path.name in NAMES) and not any(fnmatch.fnmatch(name, glob) for glob in skip)


def main(arguments: list[str]) -> int:
    """Print each hit as file:line; exit code 1 if there are any."""
    phrases = read_phrases((ROOT / "GLOSSARY.md").read_text(encoding="utf-8"))
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    paths = [Path(name).resolve() for name in arguments] or tracked_files(ROOT)
    count = 0
    for path in paths:
        name = path.relative_to(ROOT).as_posix()
        if not is_checked(name, skip=config["tool"]["check_words"]["skip"]):
            continue
        for hit in find_phrases(path.read_text(encoding="utf-8"), phrases):
            print(f'{name}:{hit.line}: "{hit.found}"; write: {hit.replacement}')
            count += 1
    if count:
        print(f"{count} uses of words we stopped using. GLOSSARY.md has the list.", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
