"""Explain a finding: what it sees, why it matters, what to look at first, what to try, and when it is fine.

pulseboard explain                     every finding in one line
pulseboard explain loss-spike          its page
pulseboard explain loss-spike --json   the same for programs
"""

from __future__ import annotations

import argparse
import sys

from pulseboard.cli import options, terminal


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "slug", nargs="?", metavar="SLUG", help="a finding, such as loss-spike; all where it is left out"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def run(args: argparse.Namespace) -> None:
    from pulseboard.diagnose.guide import guide, guide_slugs

    if args.slug is None:
        pages = [guide(slug) for slug in guide_slugs()]
        if args.json:
            options.print_json([{"slug": page.slug, "title": page.title, "summary": page.lead} for page in pages])
            return
        table = terminal.table("finding", "what it sees", fold=("what it sees",))
        for page in pages:
            table.add_row(page.slug, page.lead)
        terminal.print_table(table)
        return
    page = guide(args.slug)
    if args.json:
        options.print_json(
            {"slug": page.slug, "title": page.title, "causes": list(page.causes), "sections": page.sections}
        )
        return
    if sys.stdout.isatty():
        from rich.markdown import Markdown

        terminal.console().print(Markdown(page.text))
    else:
        sys.stdout.write(page.text)
