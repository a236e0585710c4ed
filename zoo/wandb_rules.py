"""The rules of W&B's MCP server for the health of a run, written down from its source.

Repository wandb/wandb-mcp-server, file src/wandb_mcp_server/mcp_tools/diagnose_run.py, commit
32f6b316485d607e58c0bab5ee32f3c0445d2a2c. The tool itself needs an account and a run on W&B's servers; its rules need
only the history. "Converged" is not counted as an alarm, although the tool then advises to stop the run: it says so of
most runs, healthy or not.
"""

import csv
import io
import json
import math

# The tool reads so many rows from the start, and looks for metrics in the first few.
_ROWS = 500
_ROWS_WITH_NAMES = 10
_MIN_VALUES = 10
_CHANGE = 0.05  # between the means of the two halves, and between the second half and the last tenth
_GAP_GROWTH = 1.3

# Advice as long as the tool's own.
_ADVICE = {
    "diverging": "The loss rises: consider a lower learning rate, or look at the data pipeline for a cause.",
    "plateaued": "The training seems to have converged, so that the run can be stopped to save compute.",
    "overfit_signal": "It seems to overfit: consider regularization, dropout, or stopping the training early.",
    "nan_warnings": "NaN or infinite values were found in metrics: look for numerical instability.",
}

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


def answer(text: str, *, run: str) -> str:
    """What the tool replies to an agent about a history in CSV, with all of its fields."""
    rows = [_numbers(row) for row in csv.DictReader(io.StringIO(text))][:_ROWS]
    names = sorted({name for row in rows for name in row})
    columns = {name: _column(rows, name) for name in names}
    finite = {name: [value for value in values if math.isfinite(value)] for name, values in columns.items()}
    loss, val_loss = (name if name in names else None for name in ("train_loss", "val_loss"))
    kinds, shape = alarms(text), trend(finite[loss]) if loss else "no_loss_key"
    broken = {name: sum(not math.isfinite(row[name]) for row in rows if name in row) for name in names}
    fields = {
        "run_id": run,
        "run_name": run,
        "run_state": "finished",
        "diagnosis": {"decreasing": "training", "plateaued": "converged", "increasing": "diverging"}.get(shape, shape),
        "loss_stats": _statistics(loss, finite[loss], shape) if loss and len(finite[loss]) >= _MIN_VALUES else None,
        "overfit_signal": _gap(finite[loss], finite[val_loss], kinds)
        if loss and val_loss
        else {"detected": False, "reason": "no_val_loss_key"},
        "nan_warnings": {
            name: {"nan_count": count, "total": len(rows), "fraction": round(count / len(rows), 4)}
            for name, count in broken.items()
            if count
        }
        or None,
        "available_keys": names[:30],
        "detected_keys": {"loss": loss, "val_loss": val_loss},
        "total_history_rows": len(rows),
        "recommendations": [_ADVICE[kind] for kind in (*kinds, shape) if kind in _ADVICE],
        "projected_context": {
            "config": {},
            "summary": {name: values[-1] for name, values in columns.items() if values},
        },
        "selection": {
            "source": "project_field_index",
            "config_keys": [],
            "summary_keys": names,
            "field_index_exhaustive": True,
        },
        "coverage": {
            "sampled": True,
            "requested_samples": _ROWS,
            "effective_samples": _ROWS,
            "returned_rows": len(rows),
            "x_axis": "_step",
            "project_exhaustive": False,
            "conclusions_apply_to_sample": True,
        },
    }
    return json.dumps(fields)


def _statistics(name: str, values: list[float], shape: str) -> dict[str, object]:
    tail = values[-max(1, len(values) // 10) :]
    figures = {
        "first_value": values[0],
        "last_value": values[-1],
        "min_value": min(values),
        "tail_mean": _mean(tail),
        "overall_mean": _mean(values),
    }
    rounded = {field: round(value, 6) for field, value in figures.items()}
    return {"key": name, **rounded, "trend": shape, "total_steps": len(values)}


def _gap(loss: list[float], val_loss: list[float], kinds: list[str]) -> dict[str, object]:
    if min(len(loss), len(val_loss)) < _MIN_VALUES:
        return {"detected": False, "reason": "insufficient_data"}
    gaps = [abs(other - one) for one, other in zip(loss, val_loss, strict=False)]
    early, late = _mean(gaps[: len(gaps) // 2]), _mean(gaps[len(gaps) // 2 :])
    return {
        "detected": "overfit_signal" in kinds,
        "train_loss_trend": trend(loss),
        "val_loss_trend": trend(val_loss),
        "aligned_points": len(gaps),
        "gap_early": round(early, 6),
        "gap_late": round(late, 6),
        "gap_ratio": round(late / max(early, 1e-8), 3),
    }


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
