"""Show the tags of runs, each with its range and a sparkline.

For scalars: points, last, minimum and maximum value, steps, duration, and a sparkline (× marks NaN and infinities).
For everything else: the kind and the number of values. With --chart, a chart of each scalar.

  pulseboard show runs/                          the most recently active runs
  pulseboard show runs/ -r baseline              the tags of one run
  pulseboard show runs/ -r baseline -t loss -c   a chart of every matching tag
  pulseboard show runs/ --brief                  run, tag, points, last, min, max and last step, separated by tabs
"""

from __future__ import annotations

import argparse

from pulseboard.cli import drawing, options, terminal, wording
from pulseboard.read.parsed_run import ParsedRun
from pulseboard.read.run import Run

# More would scroll away. A line says how to choose others.
_MAX_RUNS = 10
_CHART_WIDTHS = (40, 100)


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_choice(parser)
    parser.add_argument("-c", "--chart", action="store_true", help="draw each scalar as a chart over steps")
    parser.add_argument("-l", "--log", action="store_true", help="with --chart: logarithmic scale for values")
    parser.add_argument("--orphans", action="store_true", help="include points that a restart replaced")


def run(args: argparse.Namespace) -> None:
    log = options.load(args)
    runs = options.chosen_runs(log, args)
    if args.json:
        options.print_json({"schema": 1, "runs": [_record(run, args) for run in runs]})
        return
    if args.brief:
        for run in runs:
            stats = {one.tag: one for one in run.stats()}
            for one in (stats[tag] for tag in options.chosen_tags(run.tags("scalar"), args)):
                terminal.print_rows([(run.name, one.tag, one.count, one.last, one.min, one.max, one.max_step)])
        return
    terminal.print_notes([note for run in runs for note in run.notes()])
    console = terminal.console()
    if not runs:
        console.print("No runs found: no event files or other supported logs.")
    if args.tag:
        runs = [run for run in runs if options.chosen_tags(run.tags(), args)]
        if not runs:
            console.print(f"No tag matches {args.tag!r}.")
    shown = runs if args.runs else runs[:_MAX_RUNS]
    for run in shown:
        _print(run, args)
    if len(shown) < len(runs):
        more = wording.plural(len(runs) - len(shown), "more run")
        console.print(f"… and {more}. Choose with --run NAME, or list all with `pulseboard ls`.")


def _print(run: Run, args: argparse.Namespace) -> None:
    from rich.text import Text

    console = terminal.console()
    started = f"started {wording.date(run.started)}, ran for {wording.duration(run.ended - run.started)}"
    console.print(Text.assemble((terminal.printable(run.name), "bold"), f"  {started}, {wording.size(run.size_bytes)}"))
    if isinstance(run, ParsedRun) and run.axis is not None and run.axis.note:
        console.print(run.axis.note, style="dim")  # how a format was guessed, or what the steps are
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
            count = wording.plural(len(series), "point")
            console.print(Text.assemble("\n", (terminal.printable(tag), "bold"), f"  {count}, last {last}"))
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


def _record(run: Run, args: argparse.Namespace) -> dict[str, object]:
    stats = {s.tag: s for s in run.stats()}
    tags: list[dict[str, object]] = []
    for tag in options.chosen_tags(run.tags(), args):
        info = run.infos()[tag]
        for kind in info.kinds:
            record: dict[str, object] = {"tag": tag, "kind": kind, "plugin": info.plugin}
            if kind == "scalar":
                series = run.series(tag, orphans=True)
                record |= {k: v for k, v in stats[tag]._asdict().items() if k != "tag"}
                record["axis"] = run.axis_of(tag).as_dict()
                record["orphaned_count"] = int(series.orphaned.sum())
                record["sparkline"] = drawing.sparkline(series.values[~series.orphaned])
            else:
                record["count"] = info.spans
            tags.append(record)
    return {
        "run": run.name,
        "aliases": list(run.aliases),
        "path": run.location,
        "restarts": [restart._asdict() for restart in run.restarts()],
        "tags": tags,
        "notes": options.note_records(run.notes()),
    }
