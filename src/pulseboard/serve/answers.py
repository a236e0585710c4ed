"""Answers: JSON, bytes and streams, with what a browser may keep of them and how they are compressed."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

JSON = "application/json"
COLUMNS = "application/vnd.pulseboard.columns"
"""Binary columns: docs/design/serving.md."""

# Below this a compressed answer is no smaller on the wire: it is one packet either way.
_LEAST_COMPRESSED_BYTES = 1400


@dataclass(slots=True)
class Answer:
    """A whole answer."""

    body: bytes = b""
    media_type: str = JSON
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    compress: bool = True


@dataclass(slots=True)
class Streamed:
    """An answer that comes in pieces; the iterator is closed when the client goes away."""

    pieces: AsyncIterator[bytes]
    media_type: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    give_up: Callable[[], None] | None = None  # called at the end, however it came


class NotModified(Exception):
    """The client has this answer already."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        super().__init__(tag)


def json_answer(value: Any, *, status: int = 200, **headers: str) -> Answer:
    """JSON; NaN and infinities are the strings 'nan', 'inf' and '-inf'."""
    return Answer(to_json(value), JSON, status, headers)


def to_json(value: Any) -> bytes:
    """A value as JSON."""
    try:
        said = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain_number)
    except ValueError:
        said = json.dumps(_spelled(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return said.encode("utf-8", "backslashreplace")


def _plain_number(value: Any) -> Any:
    """Numbers of NumPy as Python's."""
    return value.item() if hasattr(value, "item") else str(value)


def _spelled(value: Any) -> Any:
    if isinstance(value, float):
        return repr(value) if value != value or value in (float("inf"), float("-inf")) else value
    if isinstance(value, dict):
        return {str(key): _spelled(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(item) for item in value]
    if isinstance(value, str | int | bool) or value is None:
        return value
    return _spelled(_plain_number(value))


# ---- compression


def _gzip(data: bytes) -> bytes:
    # The higher level takes a tenth off, and would keep a large answer waiting.
    return gzip.compress(data, compresslevel=6 if len(data) < 100_000 else 1, mtime=0)


def compressed(body: bytes, accepted: str) -> tuple[bytes, str | None]:
    """The body as the client takes it, and the encoding's name; None for as it is."""
    if len(body) < _LEAST_COMPRESSED_BYTES:
        return body, None
    return (_gzip(body), "gzip") if "gzip" in encodings(accepted) else (body, None)


def encodings(accepted: str) -> set[str]:
    """The encodings that an Accept-Encoding header names, without those it rules out (q=0)."""
    found = set()
    for part in accepted.lower().split(","):
        name, _, rest = part.partition(";")
        try:
            wanted = float(rest.strip().removeprefix("q=") or 1) > 0
        except ValueError:
            wanted = False
        if wanted:
            found.add(name.strip())
    return found
