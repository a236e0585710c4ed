"""Show the tags of runs, each with its range and a sparkline.

Scalars: points, last, minimum and maximum, steps, wall time, and the curve in one line (× marks NaN and
infinities). Everything else: its kind and how many values there are. With --chart, a chart of each scalar.

  pulseboard show runs/                          the most recently active runs
  pulseboard show runs/ -r baseline              one run's tags with a sparkline each
  pulseboard show runs/ -r baseline -t loss -c   a chart of each tag that matches
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from pulseboard.cli import drawing, options, terminal, wording
from pulseboard.read.every_run import AnyRun

# More would scroll away; the user is told how to choose.
_MOST_RUNS = 10
_CHART_WIDTHS = (40, 100)


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_choice(parser)
    parser.add_argument("-c", "--chart", action="store_true", help="draw each scalar as a chart over its steps")
    parser.add_argument("-l", "--log", action="store_true", help="with --chart: values on a logarithmic scale")
    parser.add_argument("--orphans", action="store_true", help="also points that a restart took the place of")


def run(args: argparse.Namespace) -> None:
    log = options.load_any(args)
    runs = options.chosen_runs(log, args)
    if args.json:
        options.print_json({"schema": 1, "runs": [_record(run, args) for run in runs]})
        return
    terminal.print_notes([note for run in runs for note in run.notes()])
    console = terminal.console()
    if not runs:
        console.print("No runs: no event file (a name with 'tfevents' in it) is here, and no log of another format.")
    if args.tag:
        runs = [run for run in runs if options.chosen_tags(run.tags(), args)]
        if not runs:
            console.print(f"No tag matches {args.tag!r}.")
    shown = runs if args.runs else runs[:_MOST_RUNS]
    for run in shown:
        _print(run, args)
    if len(shown) < len(runs):
        more = wording.plural(len(runs) - len(shown), "more run")
        console.print(f"… and {more}: choose with --run NAME, or list them with `pulseboard ls`.")


def _print(run: AnyRun, args: argparse.Namespace) -> None:
    from rich.text import Text

    console = terminal.console()
    started = f"started {wording.date(run.started)}, ran for {wording.duration(run.ended - run.started)}"
    console.print(Text.assemble((run.name, "bold"), f"  {started}, {wording.size(run.size_bytes)}"))
    restarts = run.restarts()
    if restarts:
        at = ", ".join(wording.count(restart.step) for restart in restarts[:5])
        console.print(f"restarted at step {at}{' …' if len(restarts) > 5 else ''}", style="yellow")
    scalars = options.chosen_tags(run.tags("scalar"), args)
    if scalars and args.chart:
        width = max(_CHART_WIDTHS[0], min(_CHART_WIDTHS[1], console.width))
        for tag in scalars:
            series = run.series(tag, orphans=args.orphans)
            last = wording.value(float(series.values[-1])) if len(series) else "-"
            console.print(Text.assemble("\n", (tag, "bold"), f"  {wording.plural(len(series), 'point')}, last {last}"))
            console.print(Text(drawing.chart(series, width=width, log=args.log), style="cyan"))
    elif scalars:
        numbers = ("points", "last", "min", "max", "steps", "ran for")
        table = terminal.table("scalar", *numbers, "curve", right=numbers, fold=("scalar",))
        stats = {s.tag: s for s in run.stats()}
        for tag in scalars:
            s = stats[tag]
            odd = " ".join(f"{n} {w}" for n, w in ((s.nan_count, "nan"), (s.inf_count, "inf")) if n)
            table.add_row(
                tag + (f"  ({odd})" if odd else ""),
                wording.count(s.count),
                wording.value(s.last),
                wording.value(s.min),
                wording.value(s.max),
                f"{s.first_step}–{s.max_step}",
                wording.duration(s.last_wall - s.first_wall),
                drawing.sparkline(run.series(tag).values),
            )
        terminal.print_table(table, leave_out=("ran for", "steps", "min", "max"))
    others = [
        (kind, tag, info.spans)
        for tag, info in run.infos().items()
        for kind in info.kinds
        if kind != "scalar" and tag in options.chosen_tags([tag], args)
    ]
    if others and not args.chart:
        table = terminal.table("kind", "tag", "values", right=("values",), fold=("tag",))
        for kind, tag, n in sorted(others):
            table.add_row(kind, tag, wording.count(n))
        terminal.print_table(table)
    if not scalars and not others:
        console.print("  nothing logged yet")
    console.print()


def _record(run: AnyRun, args: argparse.Namespace) -> dict[str, object]:
    stats = {s.tag: s for s in run.stats()}
    tags: list[dict[str, object]] = []
    for tag in options.chosen_tags(run.tags(), args):
        info = run.infos()[tag]
        for kind in info.kinds:
            record: dict[str, object] = {"tag": tag, "kind": kind, "plugin": info.plugin}
            if kind == "scalar":
                series = run.series(tag, orphans=True)
                record |= {k: v for k, v in asdict(stats[tag]).items() if k != "tag"}
                record["orphaned_count"] = int(series.orphaned.sum())
                record["sparkline"] = drawing.sparkline(series.values[~series.orphaned])
            else:
                record["count"] = info.spans
            tags.append(record)
    return {
        "run": run.name,
        "aliases": list(run.aliases),
        "path": run.directory,
        "restarts": [asdict(restart) for restart in run.restarts()],
        "tags": tags,
        "notes": [asdict(note) for note in run.notes()],
    }
