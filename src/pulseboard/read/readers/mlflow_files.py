"""MLflow's file store: a run's directory `metrics/`, a file a metric, a line "timestamp value step" a point."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from pulseboard.core.note import Note
from pulseboard.read.points import Points, number, step_of
from pulseboard.read.reader import History, Opening, reader
from pulseboard.read.text import decoded_lines, lines_of
from pulseboard.read.yaml_file import yaml_mapping

_LINE = re.compile(r"\d{9,16} \S+(?: -?\d+)?")
_MOST_PARAM_BYTES = 64 << 10


def _is_metrics(opening: Opening) -> bool:
    """Whether a file in the directory begins with such a line. It may lie deeper: names have slashes."""
    for path in _files(opening.path):
        with open(path, "rb") as stream:
            head = stream.read(200)
        return bool(_LINE.fullmatch((decoded_lines(head, cut=False) or [""])[0]))
    return False


def _files(directory: str) -> Iterator[str]:
    for above, folders, names in os.walk(directory):
        folders.sort()
        yield from (os.path.join(above, name) for name in sorted(names) if not name.startswith("."))


@reader(id="mlflow-files", files=("metrics/",), sees=_is_metrics, names_directory=True)
def read_metrics_directory(path: str) -> Iterator[History]:
    """One run, with its parameters from `params/` beside it."""
    points, notes = Points(), list[Note]()
    for file in _files(path):
        tag = os.path.relpath(file, path).replace(os.sep, "/")
        try:
            notes += _read_metric(file, tag=tag, points=points)
        except OSError as error:
            notes.append(Note("unreadable", f"Cannot be read: {error.strerror}.", file))
    above = os.path.dirname(path)
    about, wrong = yaml_mapping(os.path.join(above, "meta.yaml"))
    config: dict[str, Any] = dict(_params(os.path.join(above, "params")))
    if about.get("run_name"):
        config.setdefault("run_name", str(about["run_name"]))
    yield History(points.series(), config=config, notes=notes + wrong)


def _read_metric(path: str, *, tag: str, points: Points) -> list[Note]:
    bad = torn = 0
    for count, line in enumerate(lines_of(path)):
        cells = line.text.split()
        time = number(cells[0]) if cells else None
        value = number(cells[1]) if len(cells) > 1 else None
        # Old versions wrote no step.
        step = step_of(number(cells[2])) if len(cells) > 2 else count
        if not line.whole and len(cells) < 4:
            # A last step without a line break may lack digits. MLflow ends every line, so it is being written.
            torn = bool(cells)
        elif time is None or value is None or step is None:
            bad += bool(cells)
        else:
            points.add(tag, step=step, value=value, wall_time=time / 1e3)
    notes = [Note("damage", f"Left out {bad} lines that are no points.", path)] if bad else []
    if torn:
        notes.append(
            Note("info", "The last line is not whole: the file was cut there, or is still being written.", path)
        )
    return notes


def _params(directory: str) -> Iterator[tuple[str, str]]:
    for path in _files(directory):
        try:
            with open(path, "rb") as stream:
                text = stream.read(_MOST_PARAM_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
        yield os.path.relpath(path, directory).replace(os.sep, "/"), text.strip()
