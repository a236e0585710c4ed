"""Check this installation: versions, the compiled kernel, the page, file events, GPUs, extras and directories.

Prints what was found and, where something is missing or broken, what to do about it. The exit code is 1 if something
that Pulseboard needs does not work.

  pulseboard doctor                     the report
  pulseboard doctor --json              the same for programs, or to attach to an issue
  pulseboard doctor --brief             check, state, what was found and advice, separated by tabs
"""

from __future__ import annotations

import argparse

from pulseboard.cli import installation, options, terminal

_SIGNS = {"fine": "✓", "optional": "-", "broken": "✗"}


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_forms(parser)


def run(args: argparse.Namespace) -> int:
    results = installation.examine()
    broken = [one for one in results if one.state == "broken"]
    if args.json:
        records = [{"check": r.check, "state": r.state, "found": r.found, "advice": r.advice} for r in results]
        options.print_json({"schema": 1, "broken": len(broken), "checks": records})
        return 1 if broken else 0
    if args.brief:
        terminal.print_rows((one.check, one.state, one.found, one.advice) for one in results)
        return 1 if broken else 0
    console = terminal.console()
    width = max(len(one.check) for one in results)
    for one in results:
        console.print(f"{_SIGNS[one.state]} {one.check:{width}}  {one.found}")
        if one.advice:
            console.print(f"  {'':{width}}  → {one.advice}")
    console.print(
        f"\n{len(broken)} of {len(results)} checks failed." if broken else "\nEverything that is needed works."
    )
    return 1 if broken else 0
