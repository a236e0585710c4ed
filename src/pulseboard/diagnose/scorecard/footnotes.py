"""Footnotes from measurement: how many healthy trainings break a rule of a document.

healthy.toml has the counts: profile -> tag -> rule -> [healthy trainings that break it, all that could be compared]. A
rule is the question of a check, RANGE or STAGES. `python -m zoo guides` writes the file.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RANGE = "range"  # the healthy and warning ranges of a metric
STAGES = "stages"  # its milestones
FILE = "healthy.toml"


def measured_note(profile: str, tag: str, rule: str) -> tuple[str, ...]:
    """The footnote of a rule, if a healthy training breaks it; otherwise nothing."""
    broken, trainings = measured(profile, tag, rule)
    return (f"{broken} of {trainings} healthy trainings break this rule",) if broken else ()


def measured(profile: str, tag: str, rule: str) -> tuple[int, int]:
    """How many healthy trainings break a rule, of how many; (0, 0) if it was not measured."""
    broken, trainings = _counts().get(profile, {}).get(tag, {}).get(rule, (0, 0))
    return broken, trainings


@lru_cache(maxsize=1)
def _counts() -> Mapping[str, Mapping[str, Mapping[str, tuple[int, int]]]]:
    text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    return tomllib.loads(text)
