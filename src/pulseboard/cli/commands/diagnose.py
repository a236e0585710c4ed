"""Say what is wrong with runs, since when, why probably, and what to change.

Reads every run below PATH, recognises metrics by their names, and reports findings with their evidence, the
likely causes, the next check to make, and what could not be checked because nothing of it is logged.

  pulseboard diagnose runs/                     every run; of several, a summary table too
  pulseboard diagnose runs/ -r baseline --all   one run, with all findings and everything that was not checked
  pulseboard diagnose runs/ --json              for programs: schema 1, the same as the dashboard's
  pulseboard diagnose runs/ --fail-on warning   exit code 1 where a warning or worse was found
  pulseboard diagnose runs/ --watch             stay, and report as runs grow
  pulseboard diagnose runs/ --role train.loss=my/objective --profile gpt

Exit codes: 0 nothing at or above --fail-on (critical), 1 something is, 2 the input could not be read.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pulseboard.cli import options, terminal
from pulseboard.core.errors import PulseboardError
from pulseboard.core.finding import SEVERITIES, RunReport, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pulseboard.diagnose.report.text import Line
    from pulseboard.read.every_run import EveryRun
    from pulseboard.read.log import Log

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
_FORMATS = ("text", "json", "markdown", "html")
# Of more runs than this only the table is shown, and the worst of them in full.
_MOST_IN_FULL = 5


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_choice(parser, tags=False)
    parser.add_argument("--format", choices=_FORMATS, default="text", help="how to print it (text)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there; .md and .html choose the format")
    parser.add_argument(
        "--profile", metavar="NAME|FILE", help="general, gpt, hjepa, diffusion, moe, or your own TOML file"
    )
    parser.add_argument(
        "--role", action="append", default=[], metavar="ROLE=TAG", help="read a tag as this role: train.loss=my/loss"
    )
    parser.add_argument(
        "--fail-on", choices=SEVERITIES, default="critical", help="exit with 1 at or above this (critical)"
    )
    parser.add_argument("--all", action="store_true", help="show every finding, and all that was not checked")
    parser.add_argument("--watch", action="store_true", help="stay, and report what changes as runs grow")


def run(args: argparse.Namespace) -> int:
    roles = _roles(args.role)
    if args.watch:
        return _watch(options.load(args), args, roles)
    log = options.load_any(args)
    chosen = _chosen(log, args)
    reports = _reports(log, args, roles, chosen)
    if not reports:
        raise PulseboardError(f"There are no runs to diagnose below {', '.join(root.path for root in log.roots)}")
    _print(reports, args)
    return 1 if any(_at_or_above(report, args.fail_on) for report in reports) else 0


def _chosen(log: Log | EveryRun, args: argparse.Namespace) -> set[str] | None:
    return {run.name for run in options.chosen_runs(log, args)} if args.runs else None


def _reports(
    log: Log | EveryRun,
    args: argparse.Namespace,
    roles: Mapping[str, str],
    chosen: set[str] | None,
    *,
    watching: bool = False,
) -> list[RunReport]:
    from pulseboard.diagnose.diagnosis import diagnose

    return list(diagnose(log, profile=args.profile, roles=roles, runs=chosen, watching=watching))


def _print(reports: Sequence[RunReport], args: argparse.Namespace) -> None:
    kind = "json" if args.json else args.format
    if args.output and kind == "text":
        kind = {".md": "markdown", ".html": "html", ".json": "json"}.get(Path(args.output).suffix, "text")
    if kind == "text" and not args.output:
        _show(reports, everything=args.all)
        return
    if kind == "json" and not args.output:
        from pulseboard.core.finding import report_dict

        options.print_json(report_dict(reports))
        return
    text = _written(reports, kind, everything=args.all)
    if args.output:
        Path(args.output).write_text(text, encoding="utf-8")
        print(f"Wrote {args.output}", file=sys.stderr)
    else:
        sys.stdout.write(text)


def _written(reports: Sequence[RunReport], kind: str, *, everything: bool) -> str:
    if kind == "markdown":
        from pulseboard.diagnose.report.markdown import as_markdown

        return as_markdown(reports)
    if kind == "html":
        from pulseboard.diagnose.report.html import as_html

        return as_html(reports)
    if kind == "json":
        import json

        from pulseboard.core.finding import report_dict

        return json.dumps(options.plain(report_dict(reports)), indent=2) + "\n"
    from pulseboard.diagnose.report.text import as_text

    return as_text(reports, everything=everything)


def _show(reports: Sequence[RunReport], *, everything: bool) -> None:
    from pulseboard.diagnose.report.text import lines_of

    console = terminal.console()
    width = min(console.width, 110)
    order = {"critical": 0, "warning": 1, "info": 2, "ok": 3}
    in_full = sorted(reports, key=lambda report: order[report.status])
    if len(reports) > _MOST_IN_FULL and not everything:
        in_full = [report for report in in_full if report.status in ("critical", "warning")][:_MOST_IN_FULL]
    for line in lines_of(in_full, width=width, everything=everything):
        _print_line(line)
    if len(reports) > 1:
        _print_summary(reports)


def _print_line(line: Line) -> None:
    from rich.text import Text

    console = terminal.console()
    console.print(Text.assemble(*((piece.text, _STYLES.get(piece.style, "")) for piece in line)), soft_wrap=True)


def _print_summary(reports: Sequence[RunReport]) -> None:
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


def _watch(log: Log, args: argparse.Namespace, roles: Mapping[str, str]) -> int:
    """Report once, then whatever is new as the log grows. Ctrl-C ends it."""
    chosen = _chosen(log, args)
    told: set[tuple[str, str, str, int]] = set()
    worst = False
    reports = _reports(log, args, roles, chosen, watching=True)
    _print(reports, args)
    told |= {_key(report.run, finding) for report in reports for finding in report.findings}
    try:
        for changes in log.follow(every_secs=2.0):
            grown = {*changes.added, *changes.grown}
            names = grown if chosen is None else grown & chosen
            for report in _reports(log, args, roles, names, watching=True) if names else ():
                new = [finding for finding in report.findings if _key(report.run, finding) not in told]
                told |= {_key(report.run, finding) for finding in new}
                worst = worst or _at_or_above(report, args.fail_on)
                _print_news(report, new, args)
    except KeyboardInterrupt:
        print(file=sys.stderr)
    return 1 if worst or any(_at_or_above(report, args.fail_on) for report in reports) else 0


def _key(run: str, finding: object) -> tuple[str, str, str, int]:
    slug, metric = getattr(finding, "slug", ""), getattr(finding, "metric", "")
    return run, slug, metric, 0


def _print_news(report: RunReport, new: Sequence[object], args: argparse.Namespace) -> None:
    from pulseboard.core.finding import Finding
    from pulseboard.diagnose.report.text import Piece

    for finding in new:
        assert isinstance(finding, Finding)
        if args.json:
            import json

            print(json.dumps({"run": report.run, **options.plain(finding.to_dict())}), flush=True)
        else:
            head = (Piece(f"{report.run}  "), Piece(f"{finding.severity} {finding.slug}", finding.severity))
            _print_line((*head, Piece(f"  {finding.summary}")))


def _at_or_above(report: RunReport, severity: Severity) -> bool:
    return any(SEVERITIES.index(finding.severity) >= SEVERITIES.index(severity) for finding in report.findings)


def _roles(given: Sequence[str]) -> dict[str, str]:
    from pulseboard.diagnose.roles import BY_NAME

    roles = {}
    for pair in given:
        role, sign, tag = pair.partition("=")
        if not sign or role not in BY_NAME:
            known = ", ".join(sorted(BY_NAME))
            raise PulseboardError(f"--role takes ROLE=TAG, not {pair!r}. Roles: {known}")
        roles[role] = tag
    return roles
