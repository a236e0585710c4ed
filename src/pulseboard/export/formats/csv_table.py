"""CSV: one long table with a row per point. Numbers read back exactly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from pulseboard.export.format import NamedSeries, export_format


@export_format(id="csv", media_type="text/csv; charset=utf-8")
def write_csv(series: Iterator[NamedSeries], stream: IO[bytes]) -> None:
    """The header is run,tag,step,wall_time,value."""
    stream.write(b"run,tag,step,wall_time,value\n")
    for run, one in series:
        names = f"{_quoted(run)},{_quoted(one.tag)}"
        # repr is the shortest text that reads back as the same number, and gives nan, inf and -inf.
        rows = zip(one.steps.tolist(), one.wall_times.tolist(), one.values.tolist(), strict=True)
        stream.write("".join([f"{names},{s},{w!r},{v!r}\n" for s, w, v in rows]).encode())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\r\n') else name
