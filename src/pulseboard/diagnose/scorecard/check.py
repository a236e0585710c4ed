"""A check: one question of a document, in a form that a run can answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from pulseboard.core.finding import SEVERITIES, Severity

Wanted = Literal["yes", "no", "either"]


@dataclass(frozen=True, slots=True)
class Check:
    """One question, and how to answer it. Without a tag, only a person can."""

    ask: str  # the question, such as "above 50?"; the tag is shown with it
    tag: str = ""  # {i}, {name} and * stand for anything
    measure: str = "latest"  # what is compared; see measures.py
    other: str = ""  # a second tag, for measures that compare two
    at: float | None = None  # a parameter of the measure
    above: float | None = None  # yes if the measured value is above this
    below: float | None = None  # yes if it is below this
    equals: float | None = None  # yes if it is exactly this
    outside: str = ""  # yes if it is outside the metric's bands of this kind: healthy
    wanted: Wanted = "no"  # the answer of a good run
    severity: Severity = "warning"  # of the other answer
    then: str = ""  # what follows from the other answer
    section: str = ""
    note: str = ""  # a footnote: what measurements say about this rule

    def holds(self, value: float) -> bool:
        """Whether the answer is yes. Not for checks with `outside`, which need the metric."""
        return (
            (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
            and (self.equals is None or value == self.equals)
        )

    @property
    def limit(self) -> float | None:
        """The number that the value is compared with."""
        return next((n for n in (self.above, self.below, self.equals) if n is not None), None)


_KINDS: Mapping[str, type] = {"at": float, "above": float, "below": float, "equals": float}


def parse_check(given: str | Mapping[str, Any]) -> Check:
    """A check from a profile: a table, or a sentence for people. ValueError if it is neither."""
    if isinstance(given, str):
        return Check(ask=given)
    known = {field.name for field in fields(Check)}
    unknown = sorted(set(given) - known)
    if unknown or "ask" not in given:
        wrong = f"has no {unknown[0]!r}" if unknown else "needs `ask`"
        raise ValueError(f"a check {wrong}; it may have {', '.join(sorted(known))}")
    check = Check(**{name: _KINDS.get(name, str)(value) for name, value in given.items()})
    if check.wanted not in get_args(Wanted):
        raise ValueError(f"`wanted` is yes, no or either, not {check.wanted!r}")
    if check.severity not in SEVERITIES:
        raise ValueError(f"`severity` is one of {', '.join(SEVERITIES)}, not {check.severity!r}")
    if check.tag and check.limit is None and not check.outside and check.wanted != "either":
        raise ValueError(f"the check {check.ask!r} has no limit: give above, below, equals or outside")
    return check
