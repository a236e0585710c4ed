"""Roles: what a metric can be, the names it goes by, and the values it can have."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from pulseboard.diagnose.roles.shape import Shape
from pulseboard.diagnose.roles.words import Words
from pulseboard.diagnose.track import Change


@dataclass(frozen=True, slots=True)
class Role:
    """What a metric can be, and the line of code that logs it."""

    name: str
    meaning: str
    log: str  # how to log it; empty if there is no single line
    fits: Callable[[Words], bool]
    objection: Callable[[Shape], str] = lambda shape: ""  # why these values cannot be it; empty if they can
    changes: tuple[Change, ...] = ()  # the change tests its series carries
    many: bool = False  # several tags may have it at once: levels, data sets, devices


def matches(pattern: str) -> Callable[[Words], bool]:
    """A rule on the words joined by spaces."""
    compiled = re.compile(pattern)
    return lambda words: compiled.search(words.joined) is not None
