"""The rows of a scorecard: what each table says about a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pulseboard.core.finding import Severity

# How a row counts. "ok": as the document wants it; None: it cannot be said, or the document has no opinion.
Grade = Severity | Literal["ok"] | None
Reply = Literal["yes", "no", "measured", "not enough data", "not logged", "look yourself"]
# Where a value is, compared with a range.
Side = Literal["inside", "below", "above"]
StageVerdict = Side | Literal["not reached", "not logged", "other model"]


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One logged metric: its present value next to what the document expects."""

    tag: str
    meaning: str
    unit: str
    value: float | None
    step: int | None
    expected: str  # in words
    limits: tuple[str, ...]  # the document's ranges with its own words: "HEALTHY above 0.05"
    stage: str  # the range at this point of training, if the document has one
    verdict: str  # in the document's words
    grade: Grade
    signs: tuple[str, ...] = ()  # the document's warning signs for the metric, if the verdict is not good
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StageCell:
    """One milestone of one metric."""

    when: str  # "10 %", "step 500"
    step: int  # of this run
    document: str  # the range or value in the document
    value: float | None
    verdict: StageVerdict


@dataclass(frozen=True, slots=True)
class StageRow:
    """One metric over all its milestones, past ones too."""

    tag: str
    cells: tuple[StageCell, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """One question of the document, answered."""

    ask: str
    tag: str
    measure: str
    value: float | None
    limit: float | None
    reply: Reply
    bad: bool  # the answer is not the one of a good run
    grade: Grade
    then: str
    section: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FlowRow:
    """One branch of the decision flow."""

    question: str
    applies: Reply
    because: tuple[Answer, ...]
    checks: tuple[Answer, ...]
    action: str


@dataclass(frozen=True, slots=True)
class PatternRow:
    """One pattern of the document, and whether this run shows it."""

    name: str
    matches: bool
    because: tuple[str, ...]
    cause: str
    check: tuple[str, ...]
    fix: tuple[str, ...]


Frequency = Literal["as asked", "more often", "less often", "not logged", "logged"]


@dataclass(frozen=True, slots=True)
class CadenceRow:
    """How often one category is to be logged, and how often it is."""

    category: str
    asked: str
    tags: int
    every_steps: float | None
    verdict: Frequency
    note: str = ""
