"""Conditions that `wait` waits for: a finding, a step, a value, the end of a training."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pulseboard.agents.wording import short
from pulseboard.core.errors import PulseboardError
from pulseboard.core.finding import SEVERITIES, RunReport
from pulseboard.diagnose.guide import guide_slugs
from pulseboard.diagnose.report.sentences import verdict
from pulseboard.read.run import Run

_COMPARES = re.compile(r"^(?P<tag>.+?)\s*(?P<sign><=|>=|<|>)\s*(?P<value>[-+.\w]+)$")
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda value, limit: value < limit,
    ">": lambda value, limit: value > limit,
    "<=": lambda value, limit: value <= limit,
    ">=": lambda value, limit: value >= limit,
}
FORMS = "finding, finding=SLUG, finding=warning, step=N, TAG<VALUE, TAG>VALUE, end"


class BadCondition(PulseboardError):
    """A condition that cannot be understood."""

    def __init__(self, text: str, why: str) -> None:
        self.text = text
        super().__init__(f"Cannot wait until {text!r}: {why}. Conditions: {FORMS}")


class Watched(Protocol):
    """A run as conditions see it. The diagnosis is made only if a condition needs it."""

    run: Run

    @property
    def report(self) -> RunReport:
        """Its diagnosis."""

    @property
    def state(self) -> str:
        """`running`, or how it ended."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Something to wait for."""

    text: str
    met: Callable[[Watched], str]  # what happened, in words; empty while the condition is not met
    is_end: bool = False  # of all runs rather than of one


def parse_condition(text: str) -> Condition:
    """The condition that a user wrote. Raises BadCondition."""
    if text == "end":
        return Condition(text, _ended, is_end=True)
    name, given, argument = text.partition("=")
    if name == "finding":
        return Condition(text, _finding(text, argument if given else None))
    if name == "step" and given:
        return Condition(text, _step(text, argument))
    if found := _COMPARES.match(text):
        return Condition(text, _value(text, found))
    raise BadCondition(text, "it is not a condition")


def _ended(watched: Watched) -> str:
    if watched.state == "running":
        return ""
    return f"{watched.state} at step {watched.run.last_step}. {verdict(watched.report)}"


def _finding(text: str, argument: str | None) -> Callable[[Watched], str]:
    severities: tuple[str, ...] = SEVERITIES[1:]
    slug = None
    if argument in SEVERITIES:
        severities = SEVERITIES[SEVERITIES.index(argument) :]
    elif argument is not None:
        if argument not in guide_slugs():
            raise BadCondition(text, f"there is no finding {argument!r}; `pulseboard explain` lists them")
        slug, severities = argument, SEVERITIES

    def met(watched: Watched) -> str:
        for one in watched.report.findings:
            if one.severity in severities and slug in (None, one.slug):
                return f"{one.severity} {one.slug}: {one.summary}"
        return ""

    return met


def _step(text: str, argument: str) -> Callable[[Watched], str]:
    if not argument.isdecimal():
        raise BadCondition(text, f"{argument!r} is not a step")
    step = int(argument)

    def met(watched: Watched) -> str:
        last = watched.run.last_step
        return f"step {last}" if last is not None and last >= step else ""

    return met


def _value(text: str, found: re.Match[str]) -> Callable[[Watched], str]:
    tag, sign = found["tag"], found["sign"]
    try:
        limit = float(found["value"])
    except ValueError:
        raise BadCondition(text, f"{found['value']!r} is not a number") from None
    holds = _SIGNS[sign]

    def met(watched: Watched) -> str:
        if tag not in watched.run.tags("scalar"):
            return ""
        series = watched.run.series(tag)
        last = float(series.values[-1]) if len(series) else math.nan
        return f"{tag} {short(last)} at step {series.steps[-1]}" if holds(last, limit) else ""

    return met
