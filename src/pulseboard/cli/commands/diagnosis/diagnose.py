"""Report what is wrong with runs, since when, the likely cause, and what to change.

Reads every run below PATH, recognizes metrics under any name, and reports findings with their evidence, the likely
causes, what to check next, and which checks could not run because their metrics are not logged.

  pulseboard diagnose runs/                     every run, with a summary table if there are several
  pulseboard diagnose runs/ -r baseline --all   one run, with all findings and every check that could not run
  pulseboard diagnose runs/ --json              for programs; the same schema as the dashboard's
  pulseboard diagnose runs/ --brief             one line per run: its name and the verdict
  pulseboard diagnose runs/ --fail-on warning   exit code 1 on a warning or worse
  pulseboard diagnose runs/ --watch             keep running; report incidents as they open, change and end
  pulseboard diagnose clickhouse://db/team --watch   keep the reports in a database up to date; several share the work
  pulseboard diagnose runs/new --against runs/good   compare with three or more known-good runs of the same task
  pulseboard diagnose runs/ --role train.loss=my/objective --profile gpt

Exit codes: 0 nothing at or above --fail-on (critical), 1 at least one finding is, 2 the input could not be read.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pulseboard.cli import findings, options, terminal
from pulseboard.core.errors import PulseboardError
from pulseboard.core.finding import SEVERITIES, RunReport, Severity
from pulseboard.core.json_numbers import encode_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pulseboard.database.stored.runs import StoredRuns
    from pulseboard.read.runs import Runs

_FORMATS = ("text", "json", "markdown", "html")
# With several runs, show this many of the worst in full, and all of them in a table.
_MAX_IN_FULL = 5
_ROUND_SECS = 1.0


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_choice(parser, tags=False)
    parser.add_argument("--format", choices=_FORMATS, default="text", help="output format (text)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE; .md, .html and .json set the format")
    parser.add_argument(
        "--profile", metavar="NAME|FILE", help="general, gpt, visualization, hjepa, diffusion, moe, or a file"
    )
    parser.add_argument(
        "--role",
        action="append",
        default=[],
        metavar="ROLE=TAG",
        help="give a tag a role: train.loss=my/loss; repeatable",
    )
    parser.add_argument(
        "--against",
        action="append",
        metavar="PATH",
        help="three or more known-good runs of the same task: report where curves leave their range",
    )
    parser.add_argument(
        "--fail-on", choices=SEVERITIES, default="critical", help="exit with 1 at or above this severity (critical)"
    )
    parser.add_argument("--all", action="store_true", help="show every finding, and every check that could not run")
    parser.add_argument(
        "--watch", action="store_true", help="keep running and report incidents as they open, change and end"
    )


def run(args: argparse.Namespace) -> int:
    roles = _roles(args.role)
    if args.against:
        from pulseboard.diagnose.diagnosis import earlier_runs

        args.against = earlier_runs(args.against, roles=roles)
    if args.watch:
        from pulseboard.database.stored.runs import StoredRuns

        log = options.load(args)
        if isinstance(log, StoredRuns) and not args.runs:
            return _work(log, args, roles)
        return _watch(log, args, roles)
    log = options.load(args)
    chosen = _chosen(log, args)
    reports = _reports(log, args, roles, chosen)
    if not reports:
        raise PulseboardError(f"No runs to diagnose below {', '.join(root.location for root in log.log_directories)}")
    for role, tag in roles.items():
        if tag and all(report.roles.get(role) != tag for report in reports):
            raise PulseboardError(f"No run has a scalar {tag!r} to read as {role}. `pulseboard show` lists the tags.")
    _print(reports, args)
    return 1 if any(_at_or_above(report, args.fail_on) for report in reports) else 0


def _chosen(log: Runs, args: argparse.Namespace) -> set[str] | None:
    return {run.name for run in options.chosen_runs(log, args)} if args.runs else None


def _reports(
    log: Runs,
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
    if args.brief:
        from pulseboard.diagnose.report.sentences import verdict

        terminal.print_rows((report.run, verdict(report)) for report in reports)
        return
    if kind == "text" and not args.output:
        _show(reports, everything=args.all)
        return
    if kind == "json" and not args.output:
        from pulseboard.core.finding import report_dict

        options.print_json(report_dict(reports))
        return
    text = _as_text(reports, kind, everything=args.all)
    if args.output:
        Path(args.output).write_text(text, encoding="utf-8")
        print(f"Wrote {args.output}", file=sys.stderr)
    else:
        sys.stdout.write(text)


def _as_text(reports: Sequence[RunReport], kind: str, *, everything: bool) -> str:
    if kind == "markdown":
        from pulseboard.diagnose.report.markdown import as_markdown

        return as_markdown(reports)
    if kind == "html":
        from pulseboard.diagnose.report.html import as_html

        return as_html(reports)
    if kind == "json":
        import json

        from pulseboard.core.finding import report_dict

        return json.dumps(encode_numbers(report_dict(reports)), indent=2) + "\n"
    from pulseboard.diagnose.report.text import as_text

    return as_text(reports, everything=everything)


def _show(reports: Sequence[RunReport], *, everything: bool) -> None:
    from pulseboard.diagnose.report.sentences import STATUS_ORDER
    from pulseboard.diagnose.report.text import lines_of

    console = terminal.console()
    width = min(console.width, 110)
    in_full = sorted(reports, key=lambda report: STATUS_ORDER.index(report.status))
    if len(reports) > 1 and not everything:
        in_full = [report for report in in_full if report.status in ("critical", "warning")][:_MAX_IN_FULL]
    for line in lines_of(in_full, width=width, everything=everything):
        findings.print_line(line)
    if len(reports) > 1:
        findings.print_summary(reports)


def _watch(log: Runs, args: argparse.Namespace, roles: Mapping[str, str]) -> int:
    """Report once, then print what happens to incidents as the runs grow, until Ctrl-C.

    New findings of any severity are lines of their own with --all and, as they have always been, with --json.
    """
    chosen = _chosen(log, args)
    worst = False
    reports = _reports(log, args, roles, chosen, watching=True)
    _print(reports, args)
    news, alerts = findings.NewFindings(reports), findings.NewAlerts(reports)
    try:
        for changes in log.follow(every_secs=2.0):
            grown = {*changes.added, *changes.grown}
            names = grown if chosen is None else grown & chosen
            for report in _reports(log, args, roles, names, watching=True) if names else ():
                worst = worst or _at_or_above(report, args.fail_on)
                for finding in news.take(report):
                    if args.all or args.json:
                        findings.print_finding(report.run, finding, as_json=args.json)
                for alert in alerts.take(report):
                    findings.print_alert(report.run, alert, as_json=args.json)
    except KeyboardInterrupt:
        print(file=sys.stderr)
    return 1 if worst or any(_at_or_above(report, args.fail_on) for report in reports) else 0


def _work(log: StoredRuns, args: argparse.Namespace, roles: Mapping[str, str]) -> int:
    """Keep the reports in a database up to date until Ctrl-C, and print what happens to incidents."""
    import time

    from pulseboard.database.connection import DatabaseError
    from pulseboard.database.worker import Worker
    from pulseboard.diagnose.diagnosis import report_on_training

    given = {"profile": args.profile, "roles": roles, "earlier": args.against}
    worker = Worker(log, diagnose=lambda one: report_on_training(one, watching=True, **given))
    news, alerts, away = findings.NewFindings(), findings.NewAlerts(), False
    print(
        f"Keeping reports up to date as {worker.name}. Ctrl-C stops. {log.connection.url}", file=sys.stderr, flush=True
    )
    try:
        while True:
            try:
                for report in worker.round():
                    for finding in news.take(report):
                        if args.all or args.json:
                            findings.print_finding(report.run, finding, as_json=args.json)
                    for alert in alerts.take(report):
                        findings.print_alert(report.run, alert, as_json=args.json)
                away = False
            except DatabaseError as error:
                if not error.transient:
                    raise
                if not away:
                    print(f"{error}\nTrying again until it works.", file=sys.stderr, flush=True)
                away = True
            time.sleep(_ROUND_SECS)
    except KeyboardInterrupt:
        worker.leave()
        print("\nStopped.", file=sys.stderr)
    return 0


def _at_or_above(report: RunReport, severity: Severity) -> bool:
    return any(SEVERITIES.index(finding.severity) >= SEVERITIES.index(severity) for finding in report.findings)


def _roles(given: Sequence[str]) -> dict[str, str]:
    from pulseboard.diagnose.roles.resolve import BY_NAME

    roles = {}
    for pair in given:
        role, sign, tag = pair.partition("=")
        if not sign or role not in BY_NAME:
            known = ", ".join(sorted(BY_NAME))
            raise PulseboardError(f"--role takes ROLE=TAG, not {pair!r}. Roles: {known}")
        roles[role] = tag
    return roles
