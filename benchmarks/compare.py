"""Compares the targets of two reports: `python -m benchmarks.compare BEFORE.md AFTER.md`.

Rows are matched by their labels. Labels of reports written before November 18, 2026 are translated to today's, and so
are their headers. A change of less than a tenth counts as noise: two runs on one machine differ by that much.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.report import table, write_section

NOISE = 0.1

# Label then -> label now.
_RENAMED = (
    (r"of the speed of scan\.c with (\d threads?), ", r"share of the scanner's speed, \1, "),
    (r": of the Rust loader's memory", r": share of the Rust loader's memory"),
    (r"bytes a point held", r"bytes held per point"),
    (r" over that of the ([\d,]+) before", r" / of the \1 before"),
    (r"large file over small file", r"large file / small file"),
    (r"new records over ([\d,]+)$", r"new records / \1"),
    (r"poll \w+ where: among ([\d,]+) runs over among ", r"poll of a given path: among \1 runs / among "),
    (r"CSV rows a second over pandas' to_csv", r"CSV rows per second, Pulseboard / pandas to_csv"),
    (r"caller's time per scalar: torch's SummaryWriter", "time per scalar in the training thread: torch SummaryWriter"),
    (r"caller's time per scalar: trackio", "time per scalar in the training thread: trackio"),
    (r"bytes on disk per scalar: ours / SummaryWriter's", "bytes on disk per scalar: Pulseboard / torch SummaryWriter"),
    (r"histogram in the caller: SummaryWriter", "histogram in the training thread: torch SummaryWriter"),
    (r" / ours$", " / Pulseboard"),
    (r"training, per[ ]cent$", "training, percent"),
    (r"opening a chart of all$", "opening a chart of all runs"),
    (r"live runs: a point is in the stream", "live runs: delay until a point is in the stream"),
    (r"points \w+ one of ([\d,]+), CPU$", r"points / of \1, CPU time"),
    (r"open a chart, the slowest first call", "open a chart, slowest first call"),
)  # fmt: skip
# Differences near zero, for which a ratio means nothing: up to so much more or less is noise.
_NOISE_NEAR_ZERO = {"time that `pb.watch` adds to training, percent": 1.0, "the same: memory": 20.0}
# Part of a label that differs from run to run.
_VARYING = re.compile(r", median of [\d,]+$")
_HEADERS = {("what", "measured", "owed", "holds"), ("what", "measured", "target", "met")}
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
_MORE_IS_BETTER = re.compile(r"times as fast|share of the scanner's speed|per second|at least|>=")
_LESS_IS_BETTER = re.compile(r"at most|under|below|<|no growth|^0$|over 16\.7 ms|depends on pixels")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a report's table of targets."""

    section: str
    label: str
    measured: str
    target: str
    met: str

    @property
    def key(self) -> str:
        """What rows of two reports are matched by."""
        return _VARYING.sub("", self.label)

    @property
    def number(self) -> float | None:
        """The first number of what was measured."""
        found = _NUMBER.search(self.measured)
        return float(found.group().replace(",", "")) if found else None


def read_rows(text: str) -> list[Row]:
    """The rows of every table of targets in a report."""
    rows, section, in_table = [], "", False
    for line in text.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        cells = tuple(cell.strip() for cell in line.strip().strip("|").split("|")) if line.startswith("|") else ()
        if cells in _HEADERS:
            in_table = True
        elif len(cells) != 4:
            in_table = False
        elif in_table and not cells[0].startswith("---"):
            label, measured, target, met = cells
            rows.append(Row(section, _current_label(label), measured, target, met.strip("*")))
    return rows


def _current_label(label: str) -> str:
    for pattern, replacement in _RENAMED:
        label = re.sub(pattern, replacement, label)
    return label


def change(before: Row, after: Row) -> tuple[str, str]:
    """The change in percent, and whether it is better, worse or noise."""
    if before.number is None or after.number is None or not before.number:
        return "-", "same" if before.measured == after.measured else "-"
    ratio = after.number / before.number
    percent = f"{(ratio - 1) * 100:+.0f}%"
    if abs(ratio - 1) < NOISE or abs(after.number - before.number) <= _NOISE_NEAR_ZERO.get(after.key, 0.0):
        return percent, "same"
    if _MORE_IS_BETTER.search(f"{after.label} {after.target}"):
        return percent, "better" if ratio > 1 else "worse"
    if _LESS_IS_BETTER.search(after.target) or _LESS_IS_BETTER.search(after.label):
        return percent, "better" if ratio < 1 else "worse"
    return percent, "-"


def compare(before: Iterable[Row], after: Iterable[Row]) -> str:
    """A Markdown table of both reports, with a sentence that sums it up."""
    old, new = {row.key: row for row in before}, {row.key: row for row in after}
    lines, verdicts = [], []
    for key, row in new.items():
        if key not in old:
            lines.append((f"{row.section}: {row.label}", "-", row.measured, "-", "new", row.target, row.met))
            continue
        percent, verdict = change(old[key], row)
        verdicts.append(verdict)
        met = row.met if row.met == old[key].met else f"{old[key].met} -> {row.met}"
        lines.append(
            (f"{row.section}: {row.label}", old[key].measured, row.measured, percent, verdict, row.target, met)
        )
    for key, row in old.items():
        if key not in new:
            lines.append((f"{row.section}: {row.label}", row.measured, "-", "-", "gone", row.target, row.met))
    missed = [sum(row.met == "no" for row in rows.values()) for rows in (old, new)]
    summary = (
        f"{len(verdicts)} figures in both reports: {verdicts.count('better')} better, {verdicts.count('worse')} worse, "
        f"{verdicts.count('same')} within {NOISE:.0%}. Missed targets: {missed[0]} before, {missed[1]} after."
    )
    headers = ("what", "before", "after", "change", "", "target", "met")
    return f"{summary}\n\n{table(headers, lines)}"


def measured_at(text: str) -> str:
    """The commits and dates that a report names."""
    commits = re.findall(r"(?:Pulseboard at |commit |\d{4}-\d\d-\d\d, )([0-9a-f]{7,40})\b", text)
    dates = sorted(set(re.findall(r"\b\d{4}-\d\d-\d\d\b", text)))
    when = " to ".join(dict.fromkeys([*dates[:1], *dates[-1:]])) or "an unknown date"
    return f"{', '.join(dict.fromkeys(commits)) or 'an unknown commit'}, {when}"


def main() -> int:
    """Print the comparison, and write it where asked."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("before", type=Path, metavar="BEFORE.md")
    parser.add_argument("after", type=Path, metavar="AFTER.md")
    parser.add_argument("--write", metavar="FILE", help="rewrite section `compare` of this Markdown file")
    options = parser.parse_args()
    before, after = (path.read_text(encoding="utf-8") for path in (options.before, options.after))
    if not (rows := read_rows(before)) or not read_rows(after):
        empty = options.after if rows else options.before
        print(f"benchmarks.compare: no table of targets in {empty}", file=sys.stderr)
        return 1
    body = (
        f"## Before and after\n\nBefore: {measured_at(before)}. After: {measured_at(after)}.\n"
        f"{compare(rows, read_rows(after))}"
    )
    print(body)
    if options.write:
        write_section(options.write, name="compare", body=body)
    return 0


if __name__ == "__main__":
    sys.exit(main())
