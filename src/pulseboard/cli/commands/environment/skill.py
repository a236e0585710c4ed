"""Print a skill file that teaches an agent to use this command line.

It is Markdown with a name and a description in front, as agents that load skills from files expect.

  pulseboard skill                                             print it
  mkdir -p .claude/skills/pulseboard && pulseboard skill > .claude/skills/pulseboard/SKILL.md
"""

from __future__ import annotations

import argparse
import sys
from importlib import resources


def configure(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(args: argparse.Namespace) -> None:
    sys.stdout.write((resources.files("pulseboard.agents") / "skill.md").read_text(encoding="utf-8"))
