"""Hugging Face Trainer: `trainer_state.json`, the log history that every checkpoint keeps."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from pulseboard.core.note import Note
from pulseboard.read.points import Points, plain_number, step_of
from pulseboard.read.reader import History, Opening, reader
from pulseboard.read.readers.json_history import document_of

_CHECKPOINT = re.compile(r"checkpoint-\d+")


def _is_trainer_state(opening: Opening) -> bool:
    return b'"log_history"' in opening.data


def _training_of(path: str) -> str:
    """Checkpoints lie below the training's directory, and each has all of the history before it."""
    directory = os.path.dirname(path)
    return os.path.dirname(directory) if _CHECKPOINT.fullmatch(os.path.basename(directory)) else directory


@reader(id="trainer-state", files=("trainer_state.json",), sees=_is_trainer_state, snapshot_of=_training_of)
def read_trainer_state(path: str) -> Iterator[History]:
    """One run. Tags are those of the Trainer's own event files: eval/loss for eval_loss, train/loss for loss."""
    state, notes = document_of(path)
    state = state if isinstance(state, dict) else {}
    found = state.get("log_history")
    points, bad = Points(), 0
    for record in found if isinstance(found, list) else []:
        step = step_of(plain_number(record.get("step"))) if isinstance(record, dict) else None
        if step is None:
            bad += 1
            continue
        for name, value in record.items():
            number = plain_number(value)
            if number is not None and name != "step":
                points.add(_tag(name), step=step, value=number)
    if bad:
        notes.append(Note("damage", f"Left out {bad} entries of the log history that have no step.", path))
    yield History(points.series(), config=_config(state), notes=notes)


def _tag(name: str) -> str:
    for area in ("eval", "test"):
        if name.startswith(f"{area}_"):
            return f"{area}/{name.removeprefix(f'{area}_')}"
    return f"train/{name}"


_SETTINGS = ("max_steps", "num_train_epochs", "train_batch_size", "logging_steps", "eval_steps", "save_steps")


def _config(state: dict[str, Any]) -> dict[str, Any]:
    trial = state.get("trial_params")
    settings = {name: state[name] for name in _SETTINGS if state.get(name) is not None}
    return {**settings, **(trial if isinstance(trial, dict) else {})}
