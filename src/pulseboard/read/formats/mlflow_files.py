"""MLflow's file store: the directory `metrics/` of a run, with one file per metric.

One line per point: timestamp, value, step.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from pulseboard.core.note import Note
from pulseboard.core.plural import plural
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.parsing.numbers import number, step_of
from pulseboard.read.parsing.series_builder import SeriesBuilder
from pulseboard.read.parsing.text import decoded_lines, lines_of
from pulseboard.read.parsing.yaml_file import yaml_mapping
from pulseboard.rundir.regular_file import open_regular

_LINE = re.compile(r"\d{9,16} \S+(?: -?\d+)?")
_MAX_PARAM_BYTES = 64 << 10


def _is_metrics_directory(candidate: Candidate) -> bool:
    """Whether the first file in the directory begins with such a line. It may be deeper: names have slashes."""
    for path in _files(candidate.path):
        with open_regular(path) as stream:
            head = stream.read(200)
        return bool(_LINE.fullmatch((decoded_lines(head, truncated=False) or [""])[0]))
    return False


def _files(directory: str) -> Iterator[str]:
    for parent, subdirectories, names in os.walk(directory):
        subdirectories.sort()
        yield from (os.path.join(parent, name) for name in sorted(names) if not name.startswith("."))


@reader(id="mlflow-files", files=("metrics/",), recognizes=_is_metrics_directory, named_after_directory=True)
def read_metrics_directory(path: str) -> Iterator[RunData]:
    """One run, with its parameters from the directory `params/` next to it."""
    builder, notes = SeriesBuilder(), list[Note]()
    for file in _files(path):
        tag = os.path.relpath(file, path).replace(os.sep, "/")
        try:
            notes += _read_metric(file, tag=tag, builder=builder)
        except OSError as error:
            notes.append(Note("unreadable", f"Cannot be read: {error.strerror}.", file))
    run_directory = os.path.dirname(path)
    metadata, metadata_notes = yaml_mapping(os.path.join(run_directory, "meta.yaml"))
    config: dict[str, Any] = dict(_params(os.path.join(run_directory, "params")))
    if metadata.get("run_name"):
        config.setdefault("run_name", str(metadata["run_name"]))
    yield RunData(builder.series(), config=config, notes=notes + metadata_notes)


def _read_metric(path: str, *, tag: str, builder: SeriesBuilder) -> list[Note]:
    bad = 0
    incomplete = False
    for count, line in enumerate(lines_of(path)):
        cells = line.text.split()
        timestamp_millisecs = number(cells[0]) if cells else None
        value = number(cells[1]) if len(cells) > 1 else None
        # Old versions did not write the step.
        step = step_of(number(cells[2])) if len(cells) > 2 else count
        if not line.complete and len(cells) < 4:
            # MLflow ends every line, so this one is being written, and its step may lack digits.
            incomplete = bool(cells)
        elif timestamp_millisecs is None or value is None or step is None:
            bad += bool(cells)
        else:
            builder.add(tag, step=step, value=value, wall_time=timestamp_millisecs / 1e3)
    notes = [Note("damage", f"Left out {plural(bad, 'line')} without a point.", path)] if bad else []
    if incomplete:
        what = "The last line is incomplete: the file was truncated, or is still being written."
        notes.append(Note("info", what, path))
    return notes


def _params(directory: str) -> Iterator[tuple[str, str]]:
    for path in _files(directory):
        try:
            with open_regular(path) as stream:
                text = stream.read(_MAX_PARAM_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
        yield os.path.relpath(path, directory).replace(os.sep, "/"), text.strip()
