"""Whether two logs are of the same training: which of their tags are the same, and whether their values agree."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pulseboard.core.axes import Tag
from pulseboard.core.series import Series
from pulseboard.read.run import Run
from pulseboard.tbformat import kinds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# One of the two logs may have been written a little further, and a resumed job repeats steps.
_MIN_AGREED_FRAC = 0.5
# Of a log that ends much earlier than the other, in the same directory but with other steps.
_MIN_CUT_SHORT_FRAC, _MIN_CUT_SHORT_POINTS = 0.9, 8
# Two trainings may share fewer points by chance, such as an accuracy of 1 at step 0. Logs in the same directory may
# have fewer.
_MIN_POINTS_APART = 4
_MIN_DISTINCT_APART = 2
# Two formats in one directory are most likely one training: then a few tags may differ, such as a validation loss that
# one of the two logs takes from averaged weights.
_MIN_AGREED_TAGS_FRAC = 2 / 3
# With so many distinct values in common it is one training beyond doubt, and half of the tags may differ.
_MANY_DISTINCT, _MIN_AGREED_OF_MANY_FRAC = 8, 1 / 2
# Averages of the points of an epoch: this many epochs, each with several points, all of them about the same.
_MIN_AVERAGES, _MIN_POINTS_PER_AVERAGE = 3, 2
_MAX_AVERAGE_ERROR, _MAX_MEDIAN_AVERAGE_ERROR = 0.1, 0.03
# A log with this many times the points replaces a tag of the other: that one was cut short or logged less often.
_MORE_POINTS = 1.25
# Trainings of a sweep share these whatever they learn.
_SCHEDULE = re.compile(
    r"(^|[/_ ])(lr|pg\d+|learning_rate|epochs?|steps?|global_step|iter(ation)?s?|time\w*|timestamp|momentum|"
    r"weight_decay|beta\d?|seed|tokens|samples|eps(ilon)?|exploration_rate)([/_ \-]|$)",
    re.IGNORECASE,
)
# Prefixes that one of two loggers adds to every tag.
_PREFIXES = ("ray/tune/",)
# The Trainer has a `train_loss` at its end that is not `train/loss`.
_EVALUATED = re.compile(r"^(eval|val|test)_")
_SAMPLED = 64
_MONITOR = "sb3-monitor"
_NUMBERED = re.compile(r"(?P<before>.*?)\d+(?P<after>\D*)")
# `%.3g` is the coarsest format in use.
_MIN_ROUNDED_DIGITS = 3


@dataclass(slots=True)
class Agreement:
    """How the tags of one log relate to those of another."""

    same_training: bool = False
    agreed_points: int = 0
    same: dict[Tag, Tag] = field(default_factory=dict)
    """Tags with the same values -> the other log's tag."""
    longer: dict[Tag, Tag] = field(default_factory=dict)
    """The same, where the log has many more points than the other."""
    differing: dict[Tag, Tag] = field(default_factory=dict)
    """Tags of the same name, with other values."""
    is_parallel: bool = False
    """Of parallel environments: other values are what is expected."""


class Comparable:
    """A log prepared for comparison with many others: what that needs of its tags and values is computed once."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.tags = [(tag, _bare(tag)) for tag in run.tags(kinds.SCALAR)]
        """All tags with their bare names."""
        self.names = {name: tag for tag, name in self.tags}
        self.by_ending: dict[str, list[str]] = {}
        """Bare names by their last parts, one part or more, the whole names included."""
        for name in self.names:
            parts = name.split("/")
            for i in range(len(parts)):
                self.by_ending.setdefault("/".join(parts[i:]), []).append(name)
        self._points: dict[Tag, tuple[Series, NDArray[np.float64]]] = {}

    def points(self, tag: Tag) -> tuple[Series, NDArray[np.float64]]:
        """A series, orphaned points included, and the tolerance of each value."""
        if tag not in self._points:
            series = self.run.series(tag, orphans=True)
            self._points[tag] = (series, _tolerance(series.values))
        return self._points[tag]

    def match(self, name: str) -> Tag | None:
        """The one tag whose bare name ends in `name`, or that `name` ends in; None if there is none, or several."""
        found = dict.fromkeys(self.by_ending.get(name, ()))
        parts = name.split("/")
        found |= dict.fromkeys(ending for i in range(1, len(parts)) if (ending := "/".join(parts[i:])) in self.names)
        return self.names[next(iter(found))] if len(found) == 1 else None


def agreement_of_environments(one: Run, other: Run) -> Agreement | None:
    """How the logs of two environments of one training relate; None if they are something else.

    stable-baselines3 writes `0.monitor.csv`, `1.monitor.csv`, … into one directory, one for each environment.
    """
    if one.format != _MONITOR or other.format != _MONITOR or one.directory != other.directory:
        return None
    names = [_NUMBERED.fullmatch(os.path.basename(run.path)) for run in (one, other)]
    if names[0] is None or names[1] is None or names[0].group("before", "after") != names[1].group("before", "after"):
        return None
    tags = {tag: tag for tag in one.tags(kinds.SCALAR)}
    return Agreement(same_training=True, agreed_points=1, differing=tags, is_parallel=True)


def agreement_of(one: Comparable, other: Comparable, *, same_directory: bool) -> Agreement:
    """How the tags of `one` relate to those of `other`."""
    result = Agreement()
    agreed = differing = distinct_values = 0
    for tag, name in one.tags:
        match = other.names.get(name)
        exact = match is not None
        if match is None and (match := other.match(name)) is None:
            continue
        (left, own_tolerance), (right, other_tolerance) = one.points(tag), other.points(match)
        points, distinct = agreed_points(
            left, right, tolerances=(own_tolerance, other_tolerance), may_be_cut_short=same_directory
        )
        if not points:
            if exact and same_directory and one.run.format != other.run.format and (n := averages(left, right)):
                # Other points of the same curve: both are kept.
                result.differing[tag] = match
                if not _SCHEDULE.search(name):
                    result.agreed_points += n
                    agreed += 1
                    distinct_values += n
                continue
            if exact:
                result.differing[tag] = match
                differing += not _SCHEDULE.search(name)
                if not same_directory or one.run.format == other.run.format:
                    return result
            continue
        result.same[tag] = match
        if len(left) > _MORE_POINTS * len(right):
            result.longer[tag] = match
        result.agreed_points += points
        if not _SCHEDULE.search(name):
            agreed += 1
            distinct_values += distinct
    # Trainings that failed in the same way agree in constants.
    evidence = agreed > 0 and (same_directory or distinct_values >= _MIN_DISTINCT_APART)
    enough = result.agreed_points >= _MIN_POINTS_APART or (same_directory and result.agreed_points > 0)
    is_certain = same_directory and distinct_values >= _MANY_DISTINCT
    min_frac = _MIN_AGREED_OF_MANY_FRAC if is_certain else _MIN_AGREED_TAGS_FRAC
    most = agreed >= min_frac * (agreed + differing)
    result.same_training = evidence and enough and most
    return result


def agreed_points(
    one: Series,
    other: Series,
    *,
    tolerances: tuple[NDArray[np.float64], NDArray[np.float64]],
    may_be_cut_short: bool = False,
) -> tuple[int, int]:
    """The number of points that agree, and of distinct values among them other than 0 and 1; (0, 0) if most differ.

    Points are compared at equal steps. If the steps differ, the nth point is compared with the nth: one log may count
    epochs from 0 and the other from 1, or in optimizer steps, or print its steps rounded. One of them may be much
    shorter only if it `may_be_cut_short`, and then nearly all of its points must agree.
    """
    import numpy as np

    if not len(one) or not len(other):
        return 0, 0
    own_tolerance, other_tolerance = tolerances
    order = np.argsort(other.steps, kind="stable")
    steps, values, tolerance = other.steps[order], other.values[order], other_tolerance[order]
    inside = (one.steps >= steps[0]) & (one.steps <= steps[-1])
    first = np.searchsorted(steps, one.steps).clip(max=len(steps) - 1)
    last = (np.searchsorted(steps, one.steps, side="right") - 1).clip(min=0)
    common = inside & (steps[first] == one.steps)
    close = common & (
        _close(one.values, values[first], own_tolerance + tolerance[first])
        | _close(one.values, values[last], own_tolerance + tolerance[last])
    )
    fewer = min(int(inside.sum()), int(((other.steps >= one.steps.min()) & (other.steps <= one.steps.max())).sum()))
    if common.sum() >= _MIN_AGREED_FRAC * max(fewer, 1) and common.any():
        chance = _chance(one.values[common], values[first][common], (own_tolerance + tolerance[first])[common])
        if _is_enough(close[common], chance):
            return int(close.sum()), _distinct(one.values[close])
    n = min(len(one), len(other))
    is_shorter = abs(len(one) - len(other)) > max(2, n // 10)
    if n < (_MIN_CUT_SHORT_POINTS if is_shorter else 2) or (is_shorter and not may_be_cut_short):
        return 0, 0
    tolerance = own_tolerance[:n] + other_tolerance[:n]
    close = _close(one.values[:n], other.values[:n], tolerance)
    distinct = _distinct(one.values[:n][close])
    if is_shorter:
        enough = distinct >= _MIN_DISTINCT_APART and close.sum() >= _MIN_CUT_SHORT_FRAC * n
    else:
        enough = _is_enough(close, _chance(one.values[:n], other.values[:n], tolerance))
    if enough:
        return int(close.sum()), distinct
    return 0, 0


def averages(one: Series, other: Series) -> int:
    """The number of points of one series that are averages of the other's, one for each epoch; 0 if they are not.

    MAE's `log.txt` has the mean loss of an epoch under the name of the loss in its event files. The other series has
    only some of the points that were averaged, hence the tolerance.
    """
    import numpy as np

    coarse, fine = (one, other) if len(one) < len(other) else (other, one)
    n = len(coarse)
    if n < _MIN_AVERAGES or len(fine) < _MIN_POINTS_PER_AVERAGE * n or len(np.unique(coarse.values)) < _MIN_AVERAGES:
        return 0
    means = np.array([part.mean() for part in np.array_split(fine.values, n)])
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.abs(means - coarse.values) / np.abs(coarse.values)
    # The level must change by more than what is tolerated, or any two flat curves would do.
    spread = float(np.ptp(coarse.values)) / max(float(np.abs(coarse.values).max()), 1e-300)
    is_average = error.max() <= _MAX_AVERAGE_ERROR and np.median(error) <= _MAX_MEDIAN_AVERAGE_ERROR
    return n if is_average and spread > 2 * _MAX_AVERAGE_ERROR else 0


def _chance(one: NDArray[np.float64], other: NDArray[np.float64], tolerance: NDArray[np.float64]) -> float:
    """The share of points that agree with a neighbor of their own point: rewards of a few whole numbers often do."""
    return float(_close(one[1:], other[:-1], tolerance[1:]).mean()) if len(one) > 1 else 0.0


def _is_enough(close: NDArray[np.bool_], chance: float) -> bool:
    """Whether enough points agree, and far more than by chance. A constant agrees with all its neighbors."""
    return bool(close.all() or close.mean() >= chance + _MIN_AGREED_FRAC * (1 - chance))


def _distinct(values: NDArray[np.float64]) -> int:
    import numpy as np

    return len(np.unique(values[np.isfinite(values) & (values != 0) & (values != 1)]))


def _close(one: NDArray[np.float64], other: NDArray[np.float64], tolerance: NDArray[np.float64]) -> NDArray[np.bool_]:
    import numpy as np

    with np.errstate(invalid="ignore"):
        close: NDArray[np.bool_] = (one == other) | (np.abs(one - other) <= tolerance)
        return close | (np.isnan(one) & np.isnan(other))


def _tolerance(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half a unit of the last digit that each value was printed with, and at least the precision of float32.

    Logs print a fixed number of decimals (`%.5f`) or of significant digits (`%.4g`); which it was shows in the values
    with most digits.
    """
    import numpy as np

    finite = values[np.isfinite(values)]
    sample = finite[:: max(1, len(finite) // _SAMPLED)]
    decimals = significant = 0
    for value in sample.tolist():
        mantissa, _, exponent = f"{value!r}".lower().partition("e")
        whole, _, fraction = mantissa.lstrip("-").partition(".")
        fraction = fraction.rstrip("0")
        decimals = max(decimals, len(fraction) - int(exponent or 0))
        # 1.64e+03 is read as 1640.
        digits = whole + fraction if fraction else whole.rstrip("0")
        significant = max(significant, len(digits.lstrip("0")))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        size = np.abs(np.where(np.isfinite(values), values, 0.0))
        magnitude = np.floor(np.log10(np.where(size > 0, size, 1.0)))
        by_digits = 0.505 * 10.0 ** (magnitude + 1 - max(significant, 1))
        by_decimals = 0.505 * 10.0 ** -float(max(decimals, 0))
        # Values that are all whole numbers, such as counters, were not rounded, unless large ones have few digits.
        is_rounded = _MIN_ROUNDED_DIGITS <= significant < (magnitude.max() + 1 if len(values) else 0)
        printed = np.zeros(len(values))
        if decimals > 0:
            printed = np.maximum(by_digits, by_decimals)
        elif is_rounded:
            printed = by_digits
        return printed + size * 1.2e-7


def _bare(tag: Tag) -> str:
    """A tag without white space around it and without the prefixes of loggers: `eval_loss` is `eval/loss`."""
    name = tag.strip()
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return _EVALUATED.sub(r"\1/", name)
