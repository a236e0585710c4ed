"""Sacred's file storage: `metrics.json`, for every metric a list of steps, of times and of values."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from pulseboard.core.note import Note
from pulseboard.core.plural import plural
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.json_records import document_in
from pulseboard.read.parsing.numbers import json_number, step_of, time_of
from pulseboard.read.parsing.series_builder import SeriesBuilder


def _is_sacred(candidate: Candidate) -> bool:
    head = candidate.head
    return head.lstrip()[:1] == b"{" and b'"steps"' in head and b'"timestamps"' in head and b'"values"' in head


@reader(id="sacred", files=("metrics.json",), recognizes=_is_sacred, named_after_directory=True)
def read_sacred(path: str) -> Iterator[RunData]:
    """One run, with the configuration in the config.json next to it."""
    document, notes = document_in(path)
    builder, bad = SeriesBuilder(), 0
    for tag, metric in document.items() if isinstance(document, dict) else ():
        if not isinstance(metric, dict):
            bad += 1
            continue
        lists = [metric.get(name) for name in ("steps", "values", "timestamps")]
        steps, values, times = (found if isinstance(found, list) else [] for found in lists)
        for i, (step, value) in enumerate(zip(map(_step, steps), map(_number, values), strict=False)):
            if step is None or value is None:
                bad += 1
                continue
            wall_time = time_of(f"{times[i]}+00:00") if i < len(times) else None  # Sacred logs in UTC, without a zone
            builder.add(str(tag), step=step, value=value, **({} if wall_time is None else {"wall_time": wall_time}))
    if bad:
        notes.append(Note("damage", f"Left out {plural(bad, 'point')} without a step or a number.", path))
    config, _ = document_in(config_path) if os.path.isfile(config_path := _config_path(path)) else ({}, [])
    yield RunData(builder.series(), config=config if isinstance(config, dict) else {}, notes=notes)


def _step(value: Any) -> int | None:
    return step_of(json_number(value))


def _number(value: Any) -> float | None:
    # NumPy numbers are pickled with their type.
    return json_number(value.get("value") if isinstance(value, dict) else value)


def _config_path(path: str) -> str:
    return os.path.join(os.path.dirname(path), "config.json")
