"""Findings and incidents in the terminal: colored lines, what is new since the last check, and a table of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pulseboard.cli import terminal
from pulseboard.core.json_numbers import encode_numbers

if TYPE_CHECKING:
    from pulseboard.core.finding import Finding, RunReport
    from pulseboard.diagnose.alerts import Alert, Alerts
    from pulseboard.diagnose.report.text import Line

_STYLES = {
    "critical": "bold red",
    "warning": "yellow",
    "info": "cyan",
    "unknown": "magenta",
    "ok": "green",
    "title": "bold",
    "strong": "bold",
    "dim": "dim",
    "bad": "red",
}


def print_line(line: Line) -> None:
    """Print one line of a report, in color if the terminal supports it."""
    from rich.text import Text

    console = terminal.console()
    console.print(Text.assemble(*((piece.text, _STYLES.get(piece.style, "")) for piece in line)), soft_wrap=True)


def print_summary(reports: Sequence[RunReport]) -> None:
    """Print one row per run, and the number of runs in each status."""
    from rich.text import Text

    from pulseboard.diagnose.report.sentences import STATUS_ORDER, status_label
    from pulseboard.diagnose.report.text import summary_rows

    table = terminal.table(
        "run", "status", "last step", "findings", "likely cause", right=("last step",), fold=("run", "findings")
    )
    for run, status, steps, found, cause in summary_rows(reports):
        table.add_row(run, Text(status_label(status), _STYLES[status]), steps, found, cause)
    terminal.print_table(table, leave_out=("likely cause", "last step"))
    counts = {status: sum(report.status == status for report in reports) for status in STATUS_ORDER}
    terminal.console().print(", ".join(f"{n} {status_label(status)}" for status, n in counts.items() if n))


class NewFindings:
    """Findings that have not been reported yet. Each is reported once, and again if its severity rises."""

    def __init__(self, reports: Iterable[RunReport] = ()) -> None:
        self._reported: set[tuple[str, str, str, str]] = set()
        for report in reports:
            self.take(report)

    def take(self, report: RunReport) -> list[Finding]:
        """The new findings of a report. They count as reported from now on."""
        new = []
        for finding in report.findings:
            key = (report.run, finding.slug, finding.metric, finding.severity)
            if key not in self._reported:
                self._reported.add(key)
                new.append(finding)
        return new


def print_finding(run: str, finding: Finding, *, when: str = "", as_json: bool = False) -> None:
    """Print a finding on one line."""
    if as_json:
        import json

        print(json.dumps({"run": run, **encode_numbers(finding.to_dict())}), flush=True)
        return
    from pulseboard.diagnose.report.text import Piece

    what = Piece(f"{finding.severity} {finding.slug}", finding.severity)
    print_line((Piece(when, "dim"), Piece(f"{run}  "), what, Piece(f"  {finding.summary}")))


class NewAlerts:
    """What there is to say about the incidents of several runs: that one opened, changed or is over."""

    def __init__(self, reports: Iterable[RunReport] = ()) -> None:
        self._alerts: dict[str, Alerts] = {}
        for report in reports:
            self.take(report)

    def take(self, report: RunReport) -> list[Alert]:
        """What is new in a report. It counts as reported from now on."""
        from pulseboard.diagnose.alerts import Alerts

        return self._alerts.setdefault(report.run, Alerts(updates=True)).update(report)


def print_alert(run: str, alert: Alert, *, as_json: bool = False) -> None:
    """Print what happened to an incident on one line. As JSON, with the fields of its leading finding."""
    if as_json:
        import json

        print(json.dumps(encode_numbers({"run": run, **alert.lead.to_dict(), **alert.to_dict()})), flush=True)
        return
    from pulseboard.diagnose.report.text import Piece

    over = alert.event == "closed"
    what = Piece(f"{alert.incident.severity} {alert.lead.slug}", "ok" if over else alert.incident.severity)
    print_line((Piece(f"{run}  "), Piece(f"{alert.event:8}"), what, Piece(f"  {alert.sentences}")))
