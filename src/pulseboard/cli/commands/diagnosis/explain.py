"""Explain a finding: what it detects, why it matters, what to check first, what to try, and when it is fine.

pulseboard explain                     list every finding
pulseboard explain loss-spike          the guide to one finding
pulseboard explain loss-spike --json   the same, for programs
pulseboard explain --brief             one line per finding
pulseboard explain --profile gpt       a profile, shipped or your own file: metrics, ranges, decision flow, patterns
"""

from __future__ import annotations

import argparse
import sys

from pulseboard.cli import options, terminal
from pulseboard.core.errors import PulseboardError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("slug", nargs="?", metavar="SLUG", help="a finding, such as loss-spike; omit to list all")
    parser.add_argument("--profile", metavar="NAME|FILE", help="print a profile instead: general, gpt, hjepa, …")
    options.add_forms(parser)


def run(args: argparse.Namespace) -> None:
    from pulseboard.diagnose.guide import guide, guide_slugs

    if args.profile is not None:
        _explain_profile(args)
        return
    if args.slug is None:
        pages = [guide(slug) for slug in guide_slugs()]
        if args.json:
            options.print_json([{"slug": page.slug, "title": page.title, "summary": page.lead} for page in pages])
            return
        if args.brief:
            terminal.print_rows((page.slug, page.lead) for page in pages)
            return
        table = terminal.table("finding", "what it detects", fold=("what it detects",))
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
    if args.brief:
        terminal.print_rows([(page.slug, page.lead)])
        return
    _print_markdown(page.text)


def _explain_profile(args: argparse.Namespace) -> None:
    from pulseboard.diagnose.profile import load_profile
    from pulseboard.diagnose.report.profile import profile_text

    if args.slug is not None:
        raise PulseboardError("Give a finding or a profile, not both.")
    profile = load_profile(args.profile)
    if args.json:
        from dataclasses import asdict

        options.print_json(asdict(profile))
        return
    if args.brief:
        terminal.print_rows([(profile.name, profile.title)])
        return
    _print_markdown(profile_text(profile))


def _print_markdown(text: str) -> None:
    if sys.stdout.isatty():
        from rich.markdown import Markdown

        terminal.console().print(Markdown(text))
    else:
        sys.stdout.write(text)
