"""Say what is wrong with runs, since when, why probably, and what to change.

Reads every run below PATH, recognises metrics by their names, and reports findings with their evidence, the
likely causes, the next check to make, and what could not be checked because nothing of it is logged.

  pulseboard diagnose runs/                     every run; of several, a summary table too
  pulseboard diagnose runs/ -r baseline --all   one run, with all findings and everything that was not checked
  pulseboard diagnose runs/ --json              for programs: schema 1, the same as the dashboard's
  pulseboard diagnose runs/ --fail-on warning   exit code 1 where a warning or worse was found
  pulseboard diagnose runs/ --watch             stay, and report as runs grow
  pulseboard diagnose runs/new --against runs/good   beside earlier runs of the same task, three or more
  pulseboard diagnose runs/ --role train.loss=my/objective --profile gpt

Exit codes: 0 nothing at or above --fail-on (critical), 1 something is, 2 the input could not be read.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pulseboard.cli import findings, options, terminal
from pulseboard.core.errors import PulseboardError
from pulseboard.core.finding import SEVERITIES, RunReport, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pulseboard.read.every_run import EveryRun
    from pulseboard.read.log import Log

_FORMATS = ("text", "json", "markdown", "html")
# Of several runs this many of the worst are shown in full, and all in a table.
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
        "--against",
        action="append",
        metavar="PATH",
        help="earlier runs of the same task that went well, three or more: tell where these leave their band",
    )
    parser.add_argument(
        "--fail-on", choices=SEVERITIES, default="critical", help="exit with 1 at or above this (critical)"
    )
    parser.add_argument("--all", action="store_true", help="show every finding, and all that was not checked")
    parser.add_argument("--watch", action="store_true", help="stay, and report what changes as runs grow")


def run(args: argparse.Namespace) -> int:
    roles = _roles(args.role)
    if args.against:
        from pulseboard.diagnose.diagnosis import earlier_runs

        args.against = earlier_runs(args.against, roles=roles)
    if args.watch:
        return _watch(options.load(args), args, roles)
    log = options.load_any(args)
    chosen = _chosen(log, args)
    reports = _reports(log, args, roles, chosen)
    if not reports:
        raise PulseboardError(f"There are no runs to diagnose below {', '.join(root.path for root in log.roots)}")
    for role, tag in roles.items():
        if tag and all(report.roles.get(role) != tag for report in reports):
            raise PulseboardError(f"No run has a scalar {tag!r} to read as {role}. `pulseboard show` lists the tags.")
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

    given = {"profile": args.profile, "roles": roles, "against": args.against}
    return list(diagnose(log, **given, runs=chosen, watching=watching))


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
    if len(reports) > 1 and not everything:
        in_full = [report for report in in_full if report.status in ("critical", "warning")][:_MOST_IN_FULL]
    for line in lines_of(in_full, width=width, everything=everything):
        findings.print_line(line)
    if len(reports) > 1:
        findings.print_summary(reports)


def _watch(log: Log, args: argparse.Namespace, roles: Mapping[str, str]) -> int:
    """Report once, then whatever is new as the log grows. Ctrl-C ends it."""
    chosen = _chosen(log, args)
    worst = False
    reports = _reports(log, args, roles, chosen, watching=True)
    _print(reports, args)
    news = findings.News(reports)
    try:
        for changes in log.follow(every_secs=2.0):
            grown = {*changes.added, *changes.grown}
            names = grown if chosen is None else grown & chosen
            for report in _reports(log, args, roles, names, watching=True) if names else ():
                worst = worst or _at_or_above(report, args.fail_on)
                for finding in news.of(report):
                    findings.print_finding(report.run, finding, as_json=args.json)
    except KeyboardInterrupt:
        print(file=sys.stderr)
    return 1 if worst or any(_at_or_above(report, args.fail_on) for report in reports) else 0


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
