"""The table in a text log: which of the numbers that recur in its lines are counts, and which are metrics.

Logs have their counts on the lines of the metrics (`step 10: loss 2.5`) or on lines of their own before them
(`Epoch 3`, then `loss: 2.5`). Prose mentions both, and programs print their settings: neither is a metric.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pulseboard.read.axis.build import Column
from pulseboard.read.axis.names import TOTAL, is_counter
from pulseboard.read.parsing.bars import with_steps_of_bars, without_bars
from pulseboard.read.parsing.line_table import TIME, UTC

if TYPE_CHECKING:
    from numpy.typing import NDArray

METRIC_NAME = re.compile(
    r"loss|acc(?:uracy)?(?![a-z])|error|\berr|reward|return|perplexity|(?<![a-z])ppl|bpb|mse|mae|auc|f1|score|iou|psnr|bleu|"
    r"recall|precision|dice|(?:^|[_/ ])(?:cer|wer|m?ap[sml]?(?:50|75|@\S+)?)(?![a-z])|^learn$",
    re.IGNORECASE,
)
"""Matches the names of things that a training measures."""

IN_LINE_FRAC = 0.5
"""If at least this share of the metrics is on lines with a count, metrics are expected there."""
# A metric of unknown name comes after at least this share of the counts.
_MIN_AFTER_FRAC = 0.3
# If other metrics are on the lines of the counts, one on lines of its own comes after nearly all of them.
_MIN_AFTER_IN_LINE_FRAC = 0.9
_MIN_CONSTANT = 3
# A count on lines of its own rises, but for the trainings that follow one another.
_MAX_FALLS_FRAC = 0.15
# Settings are printed once, or again when a training is resumed.
_MAX_SETTING_FRAC, _MAX_SETTING_TIMES = 0.01, 3
MIN_ROWS_OF_SETTING = 10
"""In a log of this many counts, a number that occurs once before the last is a setting, unless named like a metric."""
# Enough values for a metric, even if all come after one count.
_MANY_VALUES = 8
# A line of metrics of unknown names is a report if it has this many of them, and recurs this often.
_MIN_REPORT_WIDTH, _MIN_REPORTS = 3, 5
_MOST, _MOST_REGULAR = 0.9, 0.7
BEST = re.compile(r"best(?![a-z])", re.IGNORECASE)
"""Matches the names of the best values so far."""
_RESULT = re.compile(r"(?<![a-z])(?:best|final)(?![a-z])", re.IGNORECASE)
_EVALUATION = re.compile(r"(?:best|val|valid|validation|test|eval)(?![a-z])", re.IGNORECASE)
_RATE = re.compile(r"(?:^|[_/ ])(?:lr|learning_?rate)$", re.IGNORECASE)
_SETTING = re.compile(r"[A-Z][A-Z\d]*(?:_[A-Z\d]+)+")  # FOCAL_LOSS_ALPHA


def metrics_and_counts(columns: Mapping[str, Column], row_count: int) -> tuple[dict[str, Column], int]:
    """The columns of a log without mentions in prose, settings, and intermediate states of progress bars.

    Returns them and the number of rows that are left.
    """
    columns, row_count = with_steps_of_bars(columns, row_count)
    kept = _kept(columns, row_count)
    used = marked({name: column for name, column in kept.items() if name not in (TIME, UTC)}, row_count)
    place = np.cumsum(used) - 1
    return {
        name: Column(place[column.rows[mask]], column.values[mask])
        for name, column in kept.items()
        if (mask := used[column.rows]).any()
    }, int(used.sum())


def _kept(columns: Mapping[str, Column], row_count: int) -> dict[str, Column]:
    columns = without_bars(columns, row_count)
    columns = {name: _without_placeholders(name, column) for name, column in columns.items()}
    counters = {name: column for name, column in columns.items() if is_counter(name) and not name.endswith(TOTAL)}
    metrics = {name: column for name, column in columns.items() if not is_counter(name) and name not in (TIME, UTC)}
    if not counters:
        kept = {name: column for name, column in columns.items() if name in (TIME, UTC) or len(column.rows) > 1}
        return {name: column for name, column in kept.items() if not is_constant(name, column)}
    marks = _Marks(counters, metrics, row_count)
    most = max(len(column.rows) for column in counters.values())
    if most >= MIN_ROWS_OF_SETTING:  # a count that occurs once says how many there will be
        counters = {name: column for name, column in counters.items() if len(column.rows) > 1}
    counts = {name: _counter(name, columns[name], marks) for name in columns if name.removesuffix(TOTAL) in counters}
    often = {name: column for name, column in counts.items() if len(column.rows) > 1}
    lines = _Lines(marked(often or counts, row_count), metrics)
    out: dict[str, Column] = {}
    for name, column in columns.items():
        if name in metrics:
            column = lines.metric(name, column, in_line=marks.in_line)
        elif is_counter(name):
            column = counts.get(name, _NOTHING)
        if len(column.rows):
            out[name] = column
    for name, column in metrics.items():
        if name not in out and (company := lines.company(column, out)) is not None:
            out[name] = company
        elif name in out and (split := lines.evaluation(name, column, out[name])) is not None:
            out.setdefault(f"val/{name}", split)
    return out


_NOTHING = Column(np.zeros(0, np.int64), np.zeros(0))


class _Marks:
    """Which rows have counts and metrics, before any of them is left out."""

    def __init__(self, counters: Mapping[str, Column], metrics: Mapping[str, Column], row_count: int) -> None:
        counted, self.measured = marked(counters, row_count), marked(metrics, row_count)
        known = marked({name: column for name, column in metrics.items() if METRIC_NAME.search(name)}, row_count)
        self.known = known if known.any() else self.measured
        self.in_line = bool((counted & self.known).sum() >= IN_LINE_FRAC * self.known.sum())
        """Whether most metrics share their line with a count."""
        widths = np.zeros(row_count, np.int32)
        for column in metrics.values():
            widths[column.rows] += 1
        # Settings come one per line.
        self.headers = np.append((~counted & (known | (widths >= _MIN_REPORT_WIDTH)))[1:], False)
        """The rows before rows of metrics without a count."""


def _counter(name: str, column: Column, marks: _Marks) -> Column:
    """What is left of a count: on the lines of metrics, or on lines of its own before them."""
    on_known = _chosen(column, marks.known[column.rows])
    on_metrics = (marks.known if marks.in_line else marks.measured)[column.rows]
    if on_metrics.sum() >= IN_LINE_FRAC * min(len(column.rows), max(1, int(marks.known.sum()))):
        column = _without_strays(_chosen(column, (marks.measured | marks.headers)[column.rows]), on_known)
    elif marks.in_line and not len(on_known.rows) and len(np.unique(column.values)) == 1:
        return _NOTHING  # "1 epoch is 500 iterations" in a comment
    elif name == "epoch":
        return column
    elif _falls_often(column):  # "Step 1" in prose
        return on_known if _rises(on_known) else _NOTHING
    return on_known if _falls_often(column) and _rises(on_known) else column


def _rises(column: Column) -> bool:
    return len(np.unique(column.values)) > 1 and not _falls_often(column)


def _without_strays(column: Column, known: Column) -> Column:
    """A count without those on other lines that do not fit between the counts on the lines of known metrics."""
    if len(known.rows) < max(2, IN_LINE_FRAC * len(column.rows)):
        return column
    after = np.searchsorted(known.rows, column.rows)
    before = np.searchsorted(known.rows, column.rows, side="right") - 1
    low, high = known.values[before.clip(min=0)], known.values[after.clip(max=len(known.rows) - 1)]
    strays = (
        (high >= low) & ((column.values < low) | (column.values > high)) & (before >= 0) & (after < len(known.rows))
    )
    strays |= (before < 0) & (column.values > known.values[0])
    return _chosen(column, ~strays)


class _Lines:
    """Which metrics share their lines, and between which counts they come."""

    def __init__(self, counted: NDArray[np.bool_], metrics: Mapping[str, Column]) -> None:
        self._counted = counted
        self._intervals = np.cumsum(counted, dtype=np.int64)
        self._metrics = metrics
        self._widths = np.zeros(len(counted), np.int32)  # metrics on the row
        self._kinds = np.zeros(len(counted), np.int64)  # equal for rows with the same metrics
        for i, column in enumerate(metrics.values()):
            self._widths[column.rows] += 1
            self._kinds[column.rows] += hash((i, "metric"))

    def metric(self, name: str, column: Column, *, in_line: bool) -> Column:
        """What is left of a metric. A value on a line without a count belongs to the count before it, if values of its
        name usually come that way, and after several counts. Settings and layers are printed at once."""
        if not len(column.rows) or is_constant(name, column):
            return _NOTHING
        is_known = bool(METRIC_NAME.search(name))
        is_single = len(column.rows) == 1 and self._intervals[column.rows[0]] < self._intervals[-1]
        if is_single and self._intervals[-1] >= MIN_ROWS_OF_SETTING and not is_known:
            return _NOTHING
        own = self._counted[column.rows]
        if own.mean() >= IN_LINE_FRAC:
            return _chosen(column, own)
        column = _chosen(column, self._intervals[column.rows] > 0)
        after, counts = self._after(column), self._intervals[-1]
        if after < 2 and len(column.rows) < _MANY_VALUES:
            return _NOTHING
        if _SETTING.fullmatch(name) and after < _MIN_AFTER_FRAC * counts:
            return _NOTHING
        is_repeated = len(column.rows) > 1 and len(np.unique(column.values)) == 1
        if in_line and is_repeated and after <= max(_MAX_SETTING_TIMES, _MAX_SETTING_FRAC * counts):
            return _NOTHING
        if not is_known and in_line:
            return column if after >= _MIN_AFTER_IN_LINE_FRAC * counts or self._is_report(column) else _NOTHING
        if not is_known and (after < _MIN_AFTER_FRAC * counts or not self._is_regular(column)):
            return _NOTHING
        return column if after >= 2 or is_known else _NOTHING

    def company(self, column: Column, kept: Mapping[str, Column]) -> Column | None:
        """A metric of unknown name on the lines of metrics that are kept: `Test: loss: 1.2, Rv: 0.9, Lv: 0.8`."""
        rows = marked({name: one for name, one in kept.items() if METRIC_NAME.search(name)}, len(self._counted))
        if not len(column.rows) or rows[column.rows].mean() < IN_LINE_FRAC or is_constant("", column):
            return None
        column = _chosen(column, rows[column.rows])
        return column if self._after(column) >= 2 else None

    def evaluation(self, name: str, column: Column, kept: Column) -> Column | None:
        """The values that a metric has on other lines, if those report an evaluation: `Loss: 3.1, Best_mIoU: 0.06`."""
        others = _chosen(column, ~np.isin(column.rows, kept.rows) & (self._intervals[column.rows] > 0))
        if (
            len(others.rows) < 2
            or _EVALUATION.match(name)
            or self._after(others) < 2
            or len(np.unique(self._kinds[others.rows])) > 1
        ):
            return None
        row = others.rows[0]
        names = [other for other, one in self._metrics.items() if _has(one, row)]
        return others if any(map(_EVALUATION.match, names)) else None

    def _after(self, column: Column) -> int:
        """After how many counts there is a value."""
        return len(np.unique(self._intervals[column.rows]))

    def _is_regular(self, column: Column) -> bool:
        """Whether most values come equally many after each count, and not always the same ones, as in prose."""
        _, counts = np.unique(self._intervals[column.rows], return_counts=True)
        usual = int(np.bincount(counts).argmax())
        differ = usual == 1 or len(np.unique(column.values)) > usual
        is_usual = counts == usual
        most = is_usual.mean() >= IN_LINE_FRAC and counts[is_usual].sum() >= _MOST_REGULAR * counts.sum()
        return differ and bool(most)

    def _is_report(self, column: Column) -> bool:
        """Whether it is on lines of several metrics, always the same ones, that come once per count."""
        rows = column.rows
        return (
            len(rows) >= _MIN_REPORTS
            and self._after(column) >= _MOST * len(rows)
            and len(np.unique(self._kinds[rows])) == 1
            and self._widths[rows[0]] >= _MIN_REPORT_WIDTH
            and bool((column.values != np.floor(column.values)).any())
        )


def _has(column: Column, row: int) -> bool:
    at = int(np.searchsorted(column.rows, row))
    return at < len(column.rows) and int(column.rows[at]) == row


def _without_placeholders(name: str, column: Column) -> Column:
    """A best value without those from before the first evaluation, which are infinite."""
    return _chosen(column, np.isfinite(column.values)) if BEST.match(name) else column


def _falls_often(column: Column) -> bool:
    changes = np.diff(column.values)
    return bool((changes < 0).sum() > max(2, _MAX_FALLS_FRAC * len(changes)))


def is_constant(name: str, column: Column) -> bool:
    """Whether a column repeats one whole number: the line of a program, the size of a batch. A rate may be 1."""
    values = column.values
    return (
        len(values) >= _MIN_CONSTANT
        and values[0] == np.floor(values[0])
        and bool((values == values[0]).all())
        and not METRIC_NAME.search(name)
        and not is_counter(name)
        and not _RATE.search(name)
        and name not in (TIME, UTC)
    )


def marked(columns: Mapping[str, Column], row_count: int) -> NDArray[np.bool_]:
    """Which rows have a number in one of the columns."""
    marks = np.zeros(row_count, np.bool_)
    for column in columns.values():
        marks[column.rows] = True
    return marks


def _chosen(column: Column, kept: NDArray[np.bool_]) -> Column:
    return column if kept.all() else Column(column.rows[kept], column.values[kept])


def looks_like_training(columns: Mapping[str, Column], *, given: bool) -> bool:
    """Whether a log's columns are those of a training. If the user gave the file, one metric with a count is enough."""
    names = [name for name in columns if not is_counter(name) and name not in (TIME, UTC)]
    counts = max((len(column.rows) for name, column in columns.items() if is_counter(name)), default=0)
    known = max((len(columns[name].rows) for name in names if METRIC_NAME.search(name)), default=0)
    if not counts:
        known = max((len(columns[name].rows) for name in names if _is_measured_often(name)), default=0)
        return known >= (2 if given else _MIN_UNCOUNTED)
    if known >= (1 if given else 2) or (given and names):
        return True
    epochs = columns.get("epoch")
    return (
        epochs is not None
        and len(epochs.rows) >= _MIN_EPOCHS
        and any(len(columns[n].rows) >= _MIN_EPOCHS for n in names)
    )


def _is_measured_often(name: str) -> bool:
    """Not a best or final value, of which a training has one: several are several trainings."""
    return bool(METRIC_NAME.search(name)) and not _RESULT.search(name)


# Without any count, a metric has to recur this often.
_MIN_UNCOUNTED = 8
# Metrics of unknown names count if they come with this many epochs.
_MIN_EPOCHS = 5
