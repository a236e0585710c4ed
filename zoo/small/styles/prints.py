"""What scripts print."""

from pathlib import Path

import numpy as np

from zoo.small.record import Record, Row
from zoo.small.style import Style, interval_of


def write(record: Record, directory: Path, rng: np.random.Generator) -> None:
    """Write train.log in one of four ways."""
    lines = (_epochs, _steps, _pairs, _nano)[int(rng.integers(4))](record, rng)
    (directory / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _epochs(record: Record, rng: np.random.Generator) -> list[str]:
    lines = []
    for row, val in record.by_epoch():
        parts = [f"Epoch {row.epoch}/{record.epochs}"]
        parts += [f"{_title('train', k)}: {v:.4f}" for k, v in _shown(row)]
        parts += [f"{_title('val', k)}: {v:.4f}" for k, v in (_shown(val) if val else [])]
        parts += [f"lr: {row.values['lr']:.2e}"] if "lr" in row.values else []
        lines.append(" | ".join(parts))
    return lines


def _title(part: str, key: str) -> str:
    return f"{part} {key.removeprefix('val_')}"


def _steps(record: Record, rng: np.random.Generator) -> list[str]:
    rows = [(row, "") for row in record.every(interval_of(record, rng), mean=False)]
    rows += [(row, "val ") for row in record.val]
    lines = []
    for row, part in sorted(rows, key=lambda one: (one[0].step, one[1])):
        values = ", ".join(f"{k.removeprefix('val_')} {v:.5g}" for k, v in row.values.items())
        lines.append(f"[{part.strip() or 'train'}] step {row.step}/{record.steps}: {values}")
    return lines


def _pairs(record: Record, rng: np.random.Generator) -> list[str]:
    rows = [*record.every(interval_of(record, rng), mean=True), *record.val]
    return [
        f"epoch={row.epoch} step={row.step} " + " ".join(f"{k}={v:.6g}" for k, v in row.values.items())
        for row in sorted(rows, key=lambda row: row.step)
    ]


def _nano(record: Record, rng: np.random.Generator) -> list[str]:
    rows = [(row, 0) for row in record.every(interval_of(record, rng), mean=False)] + [(row, 1) for row in record.val]
    lines = []
    for row, evaluated in sorted(rows, key=lambda one: (one[0].step, one[1])):
        values = ", ".join(f"{k} {v:.4f}" for k, v in row.values.items() if k != "lr")
        rate = f", lr {row.values['lr']:.3e}" if "lr" in row.values else ""
        lines.append(f"{'step' if evaluated else 'iter'} {row.step}: {values}{rate}")
    return lines


def _shown(row: Row) -> list[tuple[str, float]]:
    return [(k, v) for k, v in row.values.items() if k != "lr"]


STYLE = Style("prints", write)
