"""JSON: one document with a record per series."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from pulseboard.core.json_numbers import encode_number
from pulseboard.export.format import NamedSeries, export_format

if TYPE_CHECKING:
    from numpy.typing import NDArray


@export_format(id="json", media_type="application/json")
def write_json(series: Iterator[NamedSeries], stream: IO[bytes]) -> None:
    """NaN and infinities are the strings 'nan', 'inf' and '-inf', since JSON has no such numbers."""
    stream.write(b'{"schema": 1, "series": [')
    for i, (run, one) in enumerate(series):
        record = {
            "run": run,
            "tag": one.tag,
            "steps": one.steps.tolist(),
            "wall_times": _json_numbers(one.wall_times),
            "values": _json_numbers(one.values),
        }
        stream.write(b",\n" if i else b"\n")
        stream.write(json.dumps(record, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace"))
    stream.write(b"\n]}\n")


def _json_numbers(values: NDArray[Any]) -> list[Any]:
    import numpy as np

    numbers: list[Any] = values.tolist()
    for i in np.flatnonzero(~np.isfinite(values)).tolist():
        numbers[i] = encode_number(numbers[i])
    return numbers
