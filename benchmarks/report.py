"""Reports: tables, what is owed, the machine, and the marked section of a Markdown file that holds them."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent

_NEW_FILE = """\
# Benchmarks

Each section below is rewritten by the benchmark that it names. Write outside the marks, not between them.
"""


class BrokenMarks(Exception):
    """A Markdown file has one mark of a section without the other, so that nothing in it is safe to replace."""


@dataclass(frozen=True, slots=True)
class Check:
    """One figure beside what is owed."""

    what: str
    figure: str
    owed: str = "-"
    holds: bool | None = None  # None: nothing is owed


@dataclass(frozen=True, slots=True)
class Part:
    """One subject of a benchmark, measured."""

    title: str
    text: str  # Markdown
    checks: list[Check]
    samples: dict[str, Any]  # everything behind the figures, for the file of raw samples


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> str:
    """A Markdown table. The first `words` columns are text, the others numbers, set to the right."""
    lines = [list(headers), *map(list, rows)]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(headers))]

    def row(cells: Sequence[str]) -> str:
        padded = [c.ljust(w) if i < words else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))]
        return "| " + " | ".join(padded) + " |"

    rule = ["-" * w if i < words else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return "\n".join([row(lines[0]), row(rule), *map(row, lines[1:])])


def checks_table(checks: Iterable[Check]) -> str:
    """What is owed, and whether it holds."""
    rows = [(c.what, c.figure, c.owed, "-" if c.holds is None else "yes" if c.holds else "**no**") for c in checks]
    return table(("what", "measured", "owed", "holds"), rows)


def machine() -> str:
    """Cores, processor and system. No names of hosts or people."""
    return f"{os.cpu_count()} cores, {_processor()}, {platform.system()} {platform.release().split('-')[0]}"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            for line in stream:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def versions(*packages: str) -> str:
    """Python's version and those of the packages, as installed here."""
    found = [f"Python {platform.python_version()}"]
    for package in packages:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            found.append(f"{package} not installed")
    return ", ".join(found)


def commit() -> str:
    """The commit that was measured, and whether the package had changes on top of it."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(REPOSITORY), *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "src")
        return git("rev-parse", "--short", "HEAD") + (" with uncommitted changes to src" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "not a git checkout"


def today() -> str:
    """The date, UTC."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")


def shown_path(path: str | os.PathLike[str]) -> str:
    """A path as a report may show it: relative to the repository, or outside it only its last part."""
    absolute = Path(path).resolve()
    return str(absolute.relative_to(REPOSITORY)) if absolute.is_relative_to(REPOSITORY) else absolute.name


def write_section(path: str | os.PathLike[str], *, name: str, body: str) -> None:
    """Put `body` between the marks of section `name`; the rest of the file stays. Makes what is missing."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    file = Path(path)
    text = file.read_text(encoding="utf-8") if file.exists() else _NEW_FILE
    section = f"{begin}\n\n{body.strip()}\n\n{end}"
    before, found_begin, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin and end not in text:
        text = f"{text.rstrip()}\n\n{section}\n"
    elif found_begin and found_end:
        text = before + section + after
    else:
        raise BrokenMarks(f"Found one of {begin} and {end} without the other after it. Mend the marks in {path}")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
