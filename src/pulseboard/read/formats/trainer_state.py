"""Hugging Face Trainer: `trainer_state.json`, the log history that every checkpoint saves."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from pulseboard.core.note import Note
from pulseboard.core.plural import plural
from pulseboard.read.axis.build import build_axis
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.json_records import RecordTable, document_in
from pulseboard.read.parsing.numbers import json_number, step_of
from pulseboard.read.parsing.table_runs import runs_of_table

# The Trainer keeps the last one under this name if it pushes checkpoints to a hub.
_CHECKPOINT = re.compile(r"checkpoint-\d+|last-checkpoint")


def _is_trainer_state(candidate: Candidate) -> bool:
    return b'"log_history"' in candidate.head


def _training_directory(path: str) -> str:
    """The directory above the checkpoints. Each checkpoint has the whole history before it."""
    directory = os.path.dirname(path)
    return os.path.dirname(directory) if _CHECKPOINT.fullmatch(os.path.basename(directory)) else directory


@reader(
    id="trainer-state",
    files=("trainer_state.json",),
    recognizes=_is_trainer_state,
    training_directory=_training_directory,
)
def read_trainer_state(path: str) -> Iterator[RunData]:
    """One run, with the tags of the Trainer's own event files: eval/loss for eval_loss, train/loss for loss."""
    state, notes = document_in(path)
    state = state if isinstance(state, dict) else {}
    history = state.get("log_history")
    table, bad = RecordTable(), 0
    for record in history if isinstance(history, list) else []:
        step = step_of(json_number(record.get("step"))) if isinstance(record, dict) else None
        if step is None:
            bad += 1
            continue
        table.add({"step": step, **{_tag(name): value for name, value in record.items() if name != "step"}})
    if bad:
        notes.append(Note("damage", f"Log history: left out {plural(bad, 'record')} without a step.", path))
    columns = table.columns()
    steps = {name: column for name, column in columns.items() if name == "step"}
    axis = build_axis(steps, table.row_count)
    yield from runs_of_table(columns, table.row_count, path=path, config=_config(state), notes=notes, axis=axis)


def _tag(name: str) -> str:
    for split in ("eval", "test"):
        if name.startswith(f"{split}_"):
            return f"{split}/{name.removeprefix(f'{split}_')}"
    return f"train/{name}"


_SETTINGS = ("max_steps", "num_train_epochs", "train_batch_size", "logging_steps", "eval_steps", "save_steps")


def _config(state: dict[str, Any]) -> dict[str, Any]:
    trial = state.get("trial_params")
    settings = {name: state[name] for name in _SETTINGS if state.get(name) is not None}
    return {**settings, **(trial if isinstance(trial, dict) else {})}
