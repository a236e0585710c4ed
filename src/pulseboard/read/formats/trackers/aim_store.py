"""Aim's repository, the directory `.aim`: for every run two RocksDB databases, which are read in place and not opened.

meta/chunks/<run>   attributes, and the contexts by number:  meta, chunks, <run>, contexts, <number>, subset = "train"
seqs/chunks/<run>   values by context, name and place:  seqs, v2, chunks, <run>, <context>, <name>, val, <place> = 2.5
                    with `step` and `time` at the same places; without v2, in older runs, a place is the step itself

A key is a path. A text in it ends in 0xFE; a number is 0xFE, eight bytes, and 0xFE. A value begins with its type.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Any

from pulseboard.core.note import Note
from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.parsing.rocksdb import NotADatabase, read_database
from pulseboard.read.parsing.series_builder import SeriesBuilder

_SENTINEL = 0xFE
_BOOL, _INT, _FLOAT, _TEXT = 1, 2, 3, 4
# What Aim measures of the machine.
_SYSTEM = "__system__"
_SYSTEM_ATTRIBUTE = "__system_params"

Key = tuple[str | int, ...]


def _is_aim(candidate: Candidate) -> bool:
    return candidate.is_directory and os.path.isdir(os.path.join(candidate.path, "meta"))


@reader(id="aim", files=(".aim/",), recognizes=_is_aim)
def read_aim(path: str) -> Iterator[RunData]:
    """Every run of the repository, named by its hash. Metrics are named after their context, as in `train/loss`."""
    chunks = os.path.join(path, "seqs", "chunks")
    for run in sorted(os.listdir(chunks)) if os.path.isdir(chunks) else ():
        directories = [os.path.join(path, part, "chunks", run) for part in ("meta", "seqs")]
        if not os.path.isdir(directories[1]):
            continue
        found, notes = list[dict[Key, Any]](), list[Note]()
        for directory in directories:
            try:
                found.append(_decoded(read_database(directory)) if os.path.isdir(directory) else {})
            except (NotADatabase, OSError) as error:
                found.append({})
                why = error.strerror if isinstance(error, OSError) else str(error)
                notes.append(Note("damage", f"The database cannot be read: {why}.", directory))
        meta, values = found
        contexts, config = _of_run(meta, run)
        yield RunData(_builder(values, contexts).series(), name=run, config=config, notes=notes)


def _decoded(database: dict[bytes, bytes]) -> dict[Key, Any]:
    out: dict[Key, Any] = {}
    for key, value in database.items():
        path, plain = _path(key), _value(value)
        if path is not None and plain is not None:
            out[path] = plain
    return out


def _path(key: bytes) -> Key | None:
    """The parts of a key; None if it is not one of Aim's."""
    parts: list[str | int] = []
    at = 0
    while at < len(key):
        if key[at] == _SENTINEL:
            if at + 10 > len(key) or key[at + 9] != _SENTINEL:
                return None
            parts.append(int.from_bytes(key[at + 1 : at + 9], "big", signed=True))
            at += 10
        else:
            end = key.find(_SENTINEL, at)
            if end < 0:
                return None
            parts.append(key[at:end].decode("utf-8", "replace"))
            at = end + 1
    return tuple(parts)


def _value(data: bytes) -> Any:
    """A value; None for media, and for marks that an object begins."""
    kind, content = (data[0], data[1:]) if data else (0, b"")
    if kind == _TEXT:
        return content.decode("utf-8", "replace")
    if kind == _BOOL and content:
        return content[0] != 0
    if kind in (_INT, _FLOAT) and len(content) == 8:
        return struct.unpack("<q" if kind == _INT else "<d", content)[0]
    return None


def _of_run(meta: dict[Key, Any], run: str) -> tuple[dict[int, dict[str, Any]], dict[str, Any]]:
    """The contexts of a run by number, and its configuration."""
    contexts: dict[int, dict[str, Any]] = {}
    config: dict[str, Any] = {}
    for path, value in meta.items():
        if path[:3] != ("meta", "chunks", run) or len(path) < 5:
            continue
        part, first, *rest = path[3:]
        if part == "contexts" and isinstance(first, int) and rest:
            contexts.setdefault(first, {})["/".join(map(str, rest))] = value
        elif part == "attrs" and first != _SYSTEM_ATTRIBUTE:
            names = rest if first == "hparams" and rest else [first, *rest]
            config["/".join(map(str, names))] = value
    return contexts, config


def _builder(values: dict[Key, Any], contexts: dict[int, dict[str, Any]]) -> SeriesBuilder:
    series: dict[str, list[tuple[int, float, float]]] = {}
    for path, value in values.items():
        head = path[:3] if path[1:2] == ("v2",) else path[:2]
        rest = path[len(head) + 1 :]
        if path[:1] != ("seqs",) or len(rest) != 4 or rest[2] != "val" or not isinstance(value, int | float):
            continue
        context, name, _, place = rest
        prefix = path[: len(head) + 3]
        step = values.get((*prefix, "step", place)) if len(head) == 3 else place
        time = values.get((*prefix, "time", place))
        if isinstance(step, int) and isinstance(context, int) and not str(name).startswith(_SYSTEM):
            tag = _tag(str(name), contexts.get(context, {}))
            series.setdefault(tag, []).append((step, float(value), time if isinstance(time, float) else float("nan")))
    builder = SeriesBuilder()
    for tag, points in series.items():
        for step, value, time in sorted(points, key=lambda point: point[0]):
            builder.add(tag, step=step, value=value, wall_time=time)
    return builder


def _tag(name: str, context: dict[str, Any]) -> str:
    """The name of a metric with its context: {"subset": "train"} is train/loss."""
    others = ", ".join(f"{key}={value}" for key, value in sorted(context.items()) if key != "subset")
    subset = f"{context['subset']}/" if context.get("subset") else ""
    return f"{subset}{name} ({others})" if others else f"{subset}{name}"
