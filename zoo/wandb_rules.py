"""The rules of W&B's MCP server for the health of a run, written down from its source.

Repository wandb/wandb-mcp-server, file src/wandb_mcp_server/mcp_tools/diagnose_run.py, commit
32f6b316485d607e58c0bab5ee32f3c0445d2a2c. The tool itself needs an account and a run on W&B's servers; its rules need
only the history. "Converged" is not counted as an alarm, although the tool then advises to stop the run: it says so of
most runs, healthy or not.
"""

import csv
import io
import math

# The tool reads so many rows from the start, and looks for metrics in the first few.
_ROWS = 500
_ROWS_WITH_NAMES = 10
_MIN_VALUES = 10
_CHANGE = 0.05  # between the means of the two halves, and between the second half and the last tenth
_GAP_GROWTH = 1.3

History = list[dict[str, float]]


def alarms(text: str) -> list[str]:
    """The kinds of its warnings about a history in CSV, with the columns of peer_csv.py."""
    rows = [_numbers(row) for row in csv.DictReader(io.StringIO(text))][:_ROWS]
    named = {name for row in rows[:_ROWS_WITH_NAMES] for name in row}
    found = []
    if any(not math.isfinite(value) for row in rows for name, value in row.items() if name in named):
        found.append("nan_warnings")
    loss, val_loss = _column(rows, "train_loss"), _column(rows, "val_loss")
    if trend(loss) == "increasing":
        found.append("diverging")
    if _overfits(loss, val_loss):
        found.append("overfit_signal")
    return found


def trend(values: list[float]) -> str:
    """Which way a curve goes, by the means of its two halves."""
    if len(values) < _MIN_VALUES:
        return "insufficient_data"
    half = len(values) // 2
    first, second = _mean(values[:half]), _mean(values[half:])
    tail = _mean(values[-max(1, len(values) // 10) :])
    if second > first * (1 + _CHANGE):
        return "increasing"
    still = second >= first * (1 - _CHANGE) or abs(tail - second) < _CHANGE * max(abs(second), 1e-8)
    return "plateaued" if still else "decreasing"


def _overfits(loss: list[float], val_loss: list[float]) -> bool:
    """Training falls while validation does not, or the distance of the two grows; they are paired by position."""
    if min(len(loss), len(val_loss)) < _MIN_VALUES:
        return False
    pairs = list(zip(loss, val_loss, strict=False))
    gaps = [abs(other - one) for one, other in pairs]
    half = len(pairs) // 2
    if _mean(gaps[half:]) > _GAP_GROWTH * _mean(gaps[:half]):
        return True
    return trend([one for one, _ in pairs]) == "decreasing" and trend([other for _, other in pairs]) != "decreasing"


def _numbers(row: dict[str, str]) -> dict[str, float]:
    return {name: float(cell) for name, cell in row.items() if cell and name not in ("step", "timestamp")}


def _column(rows: History, name: str) -> list[float]:
    return [row[name] for row in rows if name in row and not math.isnan(row[name])]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
