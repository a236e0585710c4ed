"""Compare two runs: last and best values, settings that differ, and what is wrong with each.

The first run is A, the second is B; differences are B minus A. Whether low or high values are better is judged by the
name of a tag.

  pulseboard compare runs/base runs/new               two runs
  pulseboard compare runs/ -r base -r new -t loss     two runs of a log directory; only tags that match
  pulseboard compare runs/base runs/new --brief       one line per tag, for scripts and agents
  pulseboard compare runs/base runs/new --json        for programs (docs/reference/json.md)
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pulseboard.cli import options, terminal, wording

if TYPE_CHECKING:
    from pulseboard.agents.compare import Comparison, TagComparison


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_choice(parser)


def run(args: argparse.Namespace) -> None:
    from pulseboard.agents.compare import compare, comparison_lines
    from pulseboard.agents.subjects import subject_of

    pattern = options.compiled(args.tag) if args.tag else None
    a, b = options.two_trainings(options.load(args), args)
    found = compare(subject_of(a), subject_of(b), tag=pattern)
    if args.json:
        options.print_json(found.to_dict())
    elif args.brief:
        terminal.print_lines(comparison_lines(found))
    else:
        _print(found)


def _print(found: Comparison) -> None:
    from pulseboard.diagnose.report.sentences import verdict
    from pulseboard.diagnose.report.text import title_of

    console = terminal.console()
    for label, report in (("A", found.a), ("B", found.b)):
        console.print(f"{label}  {title_of(report)}  {verdict(report)}", soft_wrap=True)
    console.print()
    common = [tag for tag in found.tags if tag.a and tag.b]
    if common:
        numbers = ("last A", "last B", "difference", "best A", "best B")
        table = terminal.table("scalar", *numbers, "better", right=numbers, fold=("scalar",))
        for tag in common:
            table.add_row(*_cells(tag))
        terminal.print_table(table, leave_out=("better", "difference"))
    else:
        console.print("No tag is logged by both.")
    for label, tags in (("A", [t.tag for t in found.tags if not t.b]), ("B", [t.tag for t in found.tags if not t.a])):
        if tags:
            console.print(f"Only in {label}: {', '.join(tags)}", soft_wrap=True)
    if found.config:
        console.print()
        table = terminal.table("setting", "A", "B", fold=("setting", "A", "B"))
        for key, (a, b) in found.config.items():
            table.add_row(key, "-" if a is None else str(a), "-" if b is None else str(b))
        terminal.print_table(table)


def _cells(tag: TagComparison) -> list[str]:
    assert tag.a is not None
    assert tag.b is not None
    difference = "-" if tag.last_difference is None else f"{tag.last_difference:+.4g}"
    values = [_value(v) for v in (tag.a.last, tag.b.last)]
    bests = [_value(v) + (f" @{at}" if at is not None else "") for v, at in
             ((tag.a.best, tag.a.best_step), (tag.b.best, tag.b.best_step))]  # fmt: skip
    return [tag.tag, *values, difference, *bests, {"a": "A", "b": "B", None: ""}[tag.winner]]


def _value(value: float | None) -> str:
    return "-" if value is None else wording.value(value)
