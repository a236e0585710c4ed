"""Two trainings compared: values, config, incidents and checks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pulseboard.agents.subjects import Subject
from pulseboard.agents.wording import short, signed
from pulseboard.core.finding import RunReport
from pulseboard.core.series import Series
from pulseboard.core.tag_names import better_end, says_how_good
from pulseboard.diagnose.report.sentences import verdict
from pulseboard.diagnose.report.text import title_of

# Where a run was, not how it was set up.
_NOT_SETTINGS = frozenset({"run_id", "run_dir", "output_dir", "logdir", "log_dir", "save_dir"})


@dataclass(frozen=True, slots=True)
class Values:
    """A series in a few numbers. Best, minimum and maximum are of the finite values; None if there are none."""

    points: int
    last: float | None
    last_step: int | None
    min: float | None
    max: float | None
    best: float | None
    best_step: int | None


@dataclass(frozen=True, slots=True)
class TagComparison:
    """One tag of two trainings."""

    tag: str
    better: str  # min or max
    a: Values | None  # None: the training does not log it
    b: Values | None

    @property
    def last_difference(self) -> float | None:
        """Last value of b minus that of a."""
        return _difference(self.a.last, self.b.last) if self.a and self.b else None

    @property
    def best_difference(self) -> float | None:
        """Best value of b minus that of a."""
        return _difference(self.a.best, self.b.best) if self.a and self.b else None

    @property
    def winner(self) -> str | None:
        """Which training has the better best value: a or b. None if neither, or if the tag is not a loss or a score."""
        difference = self.best_difference
        if not difference or not says_how_good(self.tag):
            return None
        return "b" if (difference < 0) == (self.better == "min") else "a"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        more = {"last_difference": self.last_difference, "best_difference": self.best_difference}
        return {**asdict(self), **more, "winner": self.winner}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two trainings have in common and where they differ."""

    a: RunReport
    b: RunReport
    tags: tuple[TagComparison, ...]  # those with a role first
    config: dict[str, tuple[Any, Any]]  # settings that differ; None where one does not state it

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "schema": 1,
            "a": _head(self.a),
            "b": _head(self.b),
            "tags": [tag.to_dict() for tag in self.tags],
            "config": [{"setting": key, "a": a, "b": b} for key, (a, b) in self.config.items()],
        }


def compare(a: Subject, b: Subject, *, tag: re.Pattern[str] | None = None) -> Comparison:
    """Compare two trainings. `tag` selects tags."""
    first, second = a.tags(), b.tags()
    tags = [one for one in dict.fromkeys([*first, *second]) if tag is None or tag.search(one)]
    in_a, in_b = set(first), set(second)
    return Comparison(
        a.report,
        b.report,
        tuple(
            TagComparison(
                one,
                better_end(one),
                values_of(a.series(one)) if one in in_a else None,
                values_of(b.series(one)) if one in in_b else None,
            )
            for one in tags
        ),
        _config_differences(a.config, b.config),
    )


def values_of(series: Series) -> Values:
    """A series in a few numbers."""
    if not len(series):
        return Values(0, None, None, None, None, None, None)
    last, last_step = float(series.values[-1]), int(series.steps[-1])
    finite = np.isfinite(series.values)
    if not finite.any():
        return Values(len(series), last, last_step, None, None, None, None)
    values, steps = series.values[finite], series.steps[finite]
    at = int(values.argmin() if better_end(series.tag) == "min" else values.argmax())
    low, high = float(values.min()), float(values.max())
    return Values(len(series), last, last_step, low, high, float(values[at]), int(steps[at]))


def comparison_lines(found: Comparison, *, rows: int | None = None) -> Iterator[str]:
    """A comparison as short lines: the verdicts, the values of common tags, then what differs."""
    for label, report in (("a", found.a), ("b", found.b)):
        yield f"{label} {title_of(report)}: {verdict(report)}"
    common = [tag for tag in found.tags if tag.a and tag.b]
    for tag in common[:rows]:
        yield tag_line(tag)
    if rows is not None and len(common) > rows:
        yield f"more: {len(common) - rows}"
    for label, only in (("a", [t.tag for t in found.tags if not t.b]), ("b", [t.tag for t in found.tags if not t.a])):
        if only:
            yield f"only in {label}: {listed(only, 8 if rows is not None else None)}"
    settings = [f"{key}: a={a} b={b}" for key, (a, b) in found.config.items()]
    if settings:
        yield f"config: {listed(settings, rows)}"


def tag_line(tag: TagComparison) -> str:
    """`val/loss last a=0.41 b=0.38 (-0.03), best a=0.4 @300 b=0.37 @420, better: b`; both tags must be there."""
    a, b = tag.a, tag.b
    assert a is not None
    assert b is not None
    better = f", better: {tag.winner}" if tag.winner else ""
    return (
        f"{tag.tag} last a={short(a.last)} b={short(b.last)} ({signed(tag.last_difference)}), "
        f"best a={short(a.best)} @{a.best_step} b={short(b.best)} @{b.best_step}{better}"
    )


def listed(items: list[str], most: int | None) -> str:
    """Items in one line, with the number of those that are left out."""
    shown = items if most is None else items[:most]
    return ", ".join([*shown, *([f"more: {len(items) - len(shown)}"] if len(shown) < len(items) else [])])


def _head(report: RunReport) -> dict[str, Any]:
    return {
        "run": report.run,
        "path": report.path,
        "status": report.status,
        "verdict": verdict(report),
        "steps": None if report.steps is None else list(report.steps),
        "incidents": [incident.to_dict() for incident in report.incidents],
        "coverage": {"ran": report.coverage.ran, "of": report.coverage.of},
    }


def _config_differences(a: dict[str, Any], b: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    keys = [key for key in dict.fromkeys([*a, *b]) if key.rpartition(".")[2] not in _NOT_SETTINGS]
    return {key: (_plain(a.get(key)), _plain(b.get(key))) for key in keys if a.get(key) != b.get(key)}


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _difference(a: float | None, b: float | None) -> float | None:
    if a is None or b is None or not (math.isfinite(a) and math.isfinite(b)):
        return None
    return b - a
