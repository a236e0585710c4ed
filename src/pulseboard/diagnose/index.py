"""The index of findings: every slug with its title and what it sees, as docs/findings.md has it.

python -m pulseboard.diagnose.index > docs/findings.md
"""

from __future__ import annotations

import sys

from pulseboard.diagnose.guide import guide, guide_slugs

_HEAD = """\
# Findings

What `pulseboard diagnose` looks for. Each has a page: why it matters, what to look at first, what to try and when it is
fine. `pulseboard explain SLUG` prints it. The level is the gravest that a finding usually gets; many are milder where
less is at stake, and a profile may hold them down.

Made by `python -m pulseboard.diagnose.index`.

| Finding | Level | What it sees |
| --- | --- | --- |
"""


def index_text() -> str:
    """docs/findings.md as it should be."""
    pages = [guide(slug) for slug in guide_slugs()]
    return _HEAD + "".join(
        f"| [{page.title}](../src/pulseboard/diagnose/guides/{page.slug}.md) `{page.slug}` | {page.front['level']} | "
        f"{page.lead} |\n"
        for page in pages
    )


if __name__ == "__main__":
    sys.stdout.write(index_text())
