"""Responses: JSON, bytes and streams, and their compression."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from pulseboard.core.json_numbers import encode_numbers

JSON = "application/json"
COLUMNS = "application/vnd.pulseboard.columns"
"""Binary columns: docs/design/serving.md."""

# A smaller response fits one packet, compressed or not.
_MIN_COMPRESSED_BYTES = 1400


@dataclass(slots=True)
class Response:
    """A response whose body is in memory."""

    body: bytes = b""
    media_type: str = JSON
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    compress: bool = True


@dataclass(slots=True)
class StreamingResponse:
    """A response sent in chunks. The iterator is closed when the client disconnects."""

    chunks: AsyncIterator[bytes]
    media_type: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    on_end: Callable[[], None] | None = None  # always called, also if no chunk was sent


class NotModified(Exception):
    """The client already has this response."""

    def __init__(self, etag: str) -> None:
        self.etag = etag
        super().__init__(etag)


def json_response(value: Any, *, status: int = 200, **headers: str) -> Response:
    """JSON; NaN and infinities become the strings 'nan', 'inf' and '-inf'."""
    return Response(to_json(value), JSON, status, headers)


def to_json(value: Any) -> bytes:
    """A value as JSON."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_to_python)
    except ValueError:
        text = json.dumps(
            encode_numbers(value, default=_to_python), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
    return text.encode("utf-8", "backslashreplace")


def finite(number: float, otherwise: float = 0.0) -> float:
    """A number for a field that is declared as one. Logs may hold NaN and infinities where they make no sense."""
    return number if math.isfinite(number) else otherwise


def _to_python(value: Any) -> Any:
    """A NumPy number as a Python number."""
    return value.item() if hasattr(value, "item") else str(value)


# ---- ranges


def part_of(response: Response, request_range: str) -> Response:
    """The part of a response that a Range header selects; the whole response for anything but one range of bytes."""
    size = len(response.body)
    found = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", request_range.strip())
    response.headers["accept-ranges"] = "bytes"
    if found is None or found[1] == found[2] == "":
        return response
    first = int(found[1]) if found[1] else max(size - int(found[2]), 0)
    last = min(int(found[2]), size - 1) if found[1] and found[2] else size - 1
    if first >= size or (found[1] == "" and found[2].strip("0") == ""):
        headers = {**response.headers, "content-range": f"bytes */{size}"}
        return Response(b"", response.media_type, 416, headers, compress=False)
    if last < first:
        return response
    headers = {**response.headers, "content-range": f"bytes {first}-{last}/{size}"}
    return Response(response.body[first : last + 1], response.media_type, 206, headers, compress=False)


# ---- compression


def _gzip(data: bytes) -> bytes:
    # The higher level saves another tenth, but takes too long for a large response.
    return gzip.compress(data, compresslevel=6 if len(data) < 100_000 else 1, mtime=0)


def compress(body: bytes, accept_encoding: str) -> tuple[bytes, str | None]:
    """The body in an encoding that the client accepts, and the encoding's name; None if it is not compressed."""
    if len(body) < _MIN_COMPRESSED_BYTES:
        return body, None
    return (_gzip(body), "gzip") if "gzip" in accepted_encodings(accept_encoding) else (body, None)


def accepted_encodings(accept_encoding: str) -> set[str]:
    """The encodings in an Accept-Encoding header, without those it excludes (q=0)."""
    accepted = set()
    for part in accept_encoding.lower().split(","):
        name, _, parameter = part.partition(";")
        try:
            wanted = float(parameter.strip().removeprefix("q=") or 1) > 0
        except ValueError:
            wanted = False
        if wanted:
            accepted.add(name.strip())
    return accepted
