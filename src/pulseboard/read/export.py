"""Exports: every point of the runs given, as CSV, JSON or Parquet bytes to a stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from pulseboard.core.errors import MissingPackage
from pulseboard.core.series import Series

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pulseboard.read.every_run import AnyRun
    from pulseboard.read.load import Progress

Picked = Sequence[tuple["AnyRun", list[str]]]
"""Runs, each with the scalar tags wanted of it."""

# Rows of one Parquet row group: large enough to compress well, small enough to read in part.
_ROW_GROUP = 1 << 20


def write(
    picked: Picked, stream: IO[bytes], *, form: str, orphans: bool = False, progress: Progress | None = None
) -> int:
    """Write all points; the number of points written."""
    points = done = 0
    total = sum(len(tags) for _, tags in picked)

    def counted() -> Iterator[tuple[str, Series]]:
        nonlocal points, done
        for run, tags in picked:
            for tag in tags:
                series = run.series(tag, orphans=orphans)
                yield run.name, series
                points += len(series)
                done += 1
                if progress is not None:
                    progress(done, total)

    _WRITERS[form](counted(), stream)
    return points


def _csv(parts: Iterator[tuple[str, Series]], stream: IO[bytes]) -> None:
    stream.write(b"run,tag,step,wall_time,value\n")
    for run, series in parts:
        names = f"{_quoted(run)},{_quoted(series.tag)}"
        # repr is the shortest text that reads back as the same number, and spells nan and inf so.
        rows = zip(series.steps.tolist(), series.wall_times.tolist(), series.values.tolist(), strict=True)
        stream.write("".join([f"{names},{s},{w!r},{v!r}\n" for s, w, v in rows]).encode())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\r\n') else name


def _json(parts: Iterator[tuple[str, Series]], stream: IO[bytes]) -> None:
    """One document; NaN and infinities are the strings 'nan', 'inf', '-inf', since JSON has no such numbers."""
    stream.write(b'{"schema": 1, "series": [')
    for i, (run, series) in enumerate(parts):
        record = {
            "run": run,
            "tag": series.tag,
            "steps": series.steps.tolist(),
            "wall_times": _json_numbers(series.wall_times),
            "values": _json_numbers(series.values),
        }
        stream.write(b",\n" if i else b"\n")
        stream.write(json.dumps(record, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace"))
    stream.write(b"\n]}\n")


def _json_numbers(values: NDArray[Any]) -> list[Any]:
    import numpy as np

    numbers: list[Any] = values.tolist()
    for i in np.flatnonzero(~np.isfinite(values)).tolist():
        numbers[i] = repr(numbers[i])
    return numbers


def _parquet(parts: Iterator[tuple[str, Series]], stream: IO[bytes]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingPackage("Parquet export", package="pyarrow", extra="parquet") from error
    name = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema(
        [
            ("run", name),
            ("tag", name),
            ("step", pa.int64()),
            ("wall_time", pa.float64()),
            ("value", pa.float64()),
        ]
    )
    # Steps and times climb evenly and values share exponents: these encodings halve what zstd alone leaves.
    encodings = {
        "step": "DELTA_BINARY_PACKED",
        "wall_time": "BYTE_STREAM_SPLIT",
        "value": "BYTE_STREAM_SPLIT",
    }
    with pq.ParquetWriter(
        stream, schema, compression="zstd", use_dictionary=["run", "tag"], column_encoding=encodings
    ) as writer:
        waiting: list[Any] = []
        rows = 0
        for run, series in parts:
            indices = (
                pa.array([0] * 0, pa.int32()) if not len(series) else pa.repeat(pa.scalar(0, pa.int32()), len(series))
            )
            columns = [
                pa.DictionaryArray.from_arrays(indices, [run]),
                pa.DictionaryArray.from_arrays(indices, [series.tag]),
                series.steps,
                series.wall_times,
                series.values,
            ]
            waiting.append(pa.table(columns, schema=schema))
            rows += len(series)
            if rows >= _ROW_GROUP:
                writer.write_table(pa.concat_tables(waiting).unify_dictionaries(), row_group_size=_ROW_GROUP)
                waiting, rows = [], 0
        if waiting:
            writer.write_table(pa.concat_tables(waiting).unify_dictionaries(), row_group_size=_ROW_GROUP)


_WRITERS: dict[str, Callable[[Iterator[tuple[str, Series]], IO[bytes]], None]] = {
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
}
FORMATS = tuple(_WRITERS)
