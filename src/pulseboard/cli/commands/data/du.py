"""Show disk space by run and by kind of data.

Largest runs first. Sizes are those of event files on disk; archived files count compressed.

  pulseboard du runs/                   every run, and the total
  pulseboard du runs/ -r '^2024-'       runs whose names match
  pulseboard du runs/ --brief           run and bytes, separated by a tab
"""

from __future__ import annotations

import argparse

from pulseboard.cli import options, terminal, wording


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_choice(parser, tags=False)


def run(args: argparse.Namespace) -> None:
    log = options.load(args)
    runs = sorted(options.chosen_runs(log, args), key=lambda run: -run.size_bytes)
    by_run = {run.name: run.bytes_by_kind() for run in runs}
    totals: dict[str, int] = {}
    for parts in by_run.values():
        for kind, n in parts.items():
            totals[kind] = totals.get(kind, 0) + n
    whole = sum(run.size_bytes for run in runs)
    if args.json:
        records = [
            {"run": r.name, "path": r.location, "size_bytes": r.size_bytes, "kinds": by_run[r.name]} for r in runs
        ]
        options.print_json({"schema": 1, "size_bytes": whole, "kinds": totals, "runs": records})
        return
    if args.brief:
        terminal.print_rows((run.name, run.size_bytes) for run in runs)
        return
    terminal.print_notes(log.notes())
    console = terminal.console()
    if not runs:
        console.print("No runs found.")
        return
    kinds = sorted(totals, key=lambda kind: -totals[kind])
    table = terminal.table("run", "size", *kinds, right=("size", *kinds), fold=("run",))
    for run in runs:
        parts = by_run[run.name]
        table.add_row(
            run.name,
            wording.size(run.size_bytes),
            *(wording.size(parts[k]) if k in parts else "" for k in kinds),
        )
    if len(runs) > 1:
        table.add_section()
        table.add_row("all", wording.size(whole), *(wording.size(totals[kind]) for kind in kinds), style="bold")
    terminal.print_table(table, leave_out=kinds[::-1])
