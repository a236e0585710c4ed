"""Findings in the terminal: lines in their colours, what is new since the last look, and a table of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pulseboard.cli import options, terminal

if TYPE_CHECKING:
    from pulseboard.core.finding import Finding, RunReport
    from pulseboard.diagnose.report.text import Line

_STYLES = {
    "critical": "bold red",
    "warning": "yellow",
    "info": "cyan",
    "ok": "green",
    "title": "bold",
    "strong": "bold",
    "dim": "dim",
    "bad": "red",
}


def print_line(line: Line) -> None:
    """A line of a report, in colours where the terminal has them."""
    from rich.text import Text

    console = terminal.console()
    console.print(Text.assemble(*((piece.text, _STYLES.get(piece.style, "")) for piece in line)), soft_wrap=True)


def print_summary(reports: Sequence[RunReport]) -> None:
    """One row a run, and how many there are of each status."""
    from rich.text import Text

    from pulseboard.diagnose.report.text import summary_rows

    table = terminal.table(
        "run", "status", "last step", "findings", "likeliest cause", right=("last step",), fold=("run", "findings")
    )
    for run, status, steps, found, cause in summary_rows(reports):
        table.add_row(run, Text(status, _STYLES[status]), steps, found, cause)
    terminal.print_table(table, leave_out=("likeliest cause", "last step"))
    counts = {
        status: sum(report.status == status for report in reports) for status in ("critical", "warning", "info", "ok")
    }
    terminal.console().print(", ".join(f"{n} {status}" for status, n in counts.items() if n))


class News:
    """What was found that has not been told yet. A finding is told once, and again where it has become graver."""

    def __init__(self, reports: Iterable[RunReport] = ()) -> None:
        self._told: set[tuple[str, str, str, str]] = set()
        for report in reports:
            self.of(report)

    def of(self, report: RunReport) -> list[Finding]:
        """The findings of a report that are new; from now on they are told."""
        new = []
        for finding in report.findings:
            key = (report.run, finding.slug, finding.metric, finding.severity)
            if key not in self._told:
                self._told.add(key)
                new.append(finding)
        return new


def print_finding(run: str, finding: Finding, *, when: str = "", as_json: bool = False) -> None:
    """A finding in one line, as it appears."""
    if as_json:
        import json

        print(json.dumps({"run": run, **options.plain(finding.to_dict())}), flush=True)
        return
    from pulseboard.diagnose.report.text import Piece

    what = Piece(f"{finding.severity} {finding.slug}", finding.severity)
    print_line((Piece(when, "dim"), Piece(f"{run}  "), what, Piece(f"  {finding.summary}")))
