"""Reports: figures and their targets, Markdown tables, and the marked section of a file that holds a report."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NEW_FILE = """\
# Benchmarks

Each benchmark rewrites its own section below. Edit outside the marks, not between them.
"""


# The section that lists what the others missed.
_MISSED = "missed"
_UNMEASURED = r"^- \*\*Not measured:\*\* (.*)$"


class BrokenMarks(Exception):
    """A Markdown file has one mark of a section without the other, so nothing in it is safe to replace."""


@dataclass(frozen=True, slots=True)
class Check:
    """One figure and its target."""

    label: str
    measured: str
    target: str = "-"
    holds: bool | None = None  # None: there is no target

    def without_target(self) -> Check:
        """The figure alone."""
        return Check(self.label, self.measured)


@dataclass(frozen=True, slots=True)
class Part:
    """One measured part of a benchmark."""

    title: str  # empty: the text follows the table of targets without a heading
    text: str  # Markdown
    checks: list[Check]
    samples: dict[str, Any]  # everything behind the figures, for the file of raw samples


def at_least(label: str, figure: float, target: float | None, *, digits: int = 1, unit: str = "") -> Check:
    """A figure that should reach its target; None: no target."""
    if target is None:
        return Check(label, f"{figure:.{digits}f}{unit}")
    return Check(label, f"{figure:.{digits}f}{unit}", f"at least {target:g}", figure >= target)


def at_most(label: str, figure: float, target: float, *, digits: int = 2) -> Check:
    """A figure that should not exceed its target."""
    return Check(label, f"{figure:.{digits}f}", f"at most {target:g}", figure <= target)


def verdict(checks: Iterable[Check]) -> str:
    """How many targets are met, as a sentence."""
    judged = [check for check in checks if check.holds is not None]
    missed = [check for check in judged if not check.holds]
    if not judged:
        return "No figure is judged."
    return f"{len(missed)} of {len(judged)} targets are missed." if missed else f"All {len(judged)} targets are met."


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1) -> str:
    """A Markdown table. The first `text_columns` are aligned to the left, the others, numbers, to the right."""
    lines = [list(headers), *map(list, rows)]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(headers))]

    def row(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if i < text_columns else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rule = ["-" * width if i < text_columns else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    return "\n".join([row(lines[0]), row(rule), *map(row, lines[1:])])


def checks_table(checks: Iterable[Check]) -> str:
    """The figures, their targets, and whether they are met."""
    met = {None: "-", True: "yes", False: "**no**"}
    return table(("what", "measured", "target", "met"), [(c.label, c.measured, c.target, met[c.holds]) for c in checks])


def write_section(path: str | os.PathLike[str], *, name: str, body: str) -> None:
    """Put `body` between the marks of section `name`. Creates what is missing.

    The rest of the file stays as it is, apart from the list of missed targets if the file has marks for it.
    """
    file = Path(path)
    text = file.read_text(encoding="utf-8") if file.exists() else _NEW_FILE
    text = _with_section(text, name, body, path)
    if f"<!-- {_MISSED}:begin -->" in text:
        text = _with_section(text, _MISSED, missed_targets(text), path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def missed_targets(text: str) -> str:
    """The rows of all sections whose targets are missed and the parts that were not measured, as a list."""
    lines = []
    for section in re.finditer(r"<!-- (\w+):begin -->(.*?)<!-- \1:end -->", text, re.DOTALL):
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section[2].splitlines() if "|" in line]
        missed = [row for row in rows if len(row) == 4 and row[-1] == "**no**"]
        lines += [f"- {section[1]}: {what}: {measured}, target {target}" for what, measured, target, _ in missed]
        lines += [f"- {section[1]}: not measured: {what}" for what in re.findall(_UNMEASURED, section[2], re.M)]
    heading = "Missed targets and parts that were not measured, from all sections:"
    return "\n".join([heading, "", *lines] if lines else ["All targets are met."])


def _with_section(text: str, name: str, body: str, path: str | os.PathLike[str]) -> str:
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    section = f"{begin}\n\n{body.strip()}\n\n{end}"
    before, found_begin, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin and end not in text:
        text = f"{text.rstrip()}\n\n{section}\n"
    elif found_begin and found_end:
        text = before + section + after
    else:
        raise BrokenMarks(f"Found one of {begin} and {end} without the other after it. Fix the marks in {path}")
    return text
