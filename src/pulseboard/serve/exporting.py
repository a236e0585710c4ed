"""Exports on their way to a client: made by a thread, a few pieces ahead of what the client has taken."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncIterator
from typing import IO, Any, cast

from pulseboard.core.errors import MissingPackage
from pulseboard.read import export
from pulseboard.read.export import Picked
from pulseboard.serve.answers import Streamed
from pulseboard.serve.errors import BadRequest, Busy

MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}
# Each export has a thread and a few pieces of memory of its own.
_MOST_AT_ONCE = 8
_PIECE_BYTES = 256 << 10
_PIECES_AHEAD = 4

_free = threading.BoundedSemaphore(_MOST_AT_ONCE)


class _Left(Exception):
    """The client has gone: the export ends."""


class _Pipe:
    """A file to write to whose pieces another thread takes. Writing waits while nobody takes."""

    def __init__(self) -> None:
        self.pieces: queue.Queue[bytes | BaseException | None] = queue.Queue(_PIECES_AHEAD)
        self.left = threading.Event()
        self.closed = False
        self._part: list[bytes] = []
        self._size = self._at = 0

    def write(self, data: Any) -> int:
        """Take bytes, and hand them on a piece at a time."""
        piece = bytes(data)
        self._part.append(piece)
        self._size += len(piece)
        self._at += len(piece)
        if self._size >= _PIECE_BYTES:
            self.flush()
        return len(piece)

    def flush(self) -> None:
        """Hand on what is there."""
        if self._part:
            self.put(b"".join(self._part))
            self._part, self._size = [], 0

    def put(self, item: bytes | BaseException | None) -> None:
        """Wait for room."""
        while not self.left.is_set():
            with contextlib.suppress(queue.Full):
                self.pieces.put(item, timeout=0.2)
                return
        raise _Left

    # What pyarrow asks of a file.

    def tell(self) -> int:
        return self._at

    def seekable(self) -> bool:
        return False

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


def streamed(picked: Picked, *, form: str, orphans: bool) -> Streamed:
    """The export as a stream with a file's name."""
    if form == "parquet":
        try:
            import pyarrow.parquet  # noqa: F401 - said now, while an error can still be told
        except ImportError as error:
            raise BadRequest(str(MissingPackage("Parquet export", package="pyarrow", extra="parquet"))) from error
    if not _free.acquire(blocking=False):
        raise Busy(f"{_MOST_AT_ONCE} exports are under way.", do="Wait for one to end.")
    pipe = _Pipe()

    def work() -> None:
        try:
            export.write(picked, cast(IO[bytes], pipe), form=form, orphans=orphans)
            pipe.flush()
            pipe.put(None)
        except _Left:
            pass
        except BaseException as error:
            with contextlib.suppress(_Left):
                pipe.put(error)
        finally:
            _free.release()

    thread = threading.Thread(target=work, name="pulseboard-export", daemon=True)
    headers = {"content-disposition": f'attachment; filename="pulseboard.{form}"', "cache-control": "no-store"}
    return Streamed(_pieces(pipe, thread), MEDIA_TYPES[form], headers=headers, give_up=lambda: _give_up(pipe, thread))


def _give_up(pipe: _Pipe, thread: threading.Thread) -> None:
    pipe.left.set()
    if thread.ident is None:  # nobody took a piece: it never began
        _free.release()


async def _pieces(pipe: _Pipe, thread: threading.Thread) -> AsyncIterator[bytes]:
    thread.start()
    loop = asyncio.get_running_loop()
    try:
        while True:
            try:
                item = pipe.pieces.get_nowait()
            except queue.Empty:
                item = await loop.run_in_executor(None, _take, pipe)
                if item is _NOTHING_YET:
                    continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item  # the connection is cut, so that a half file is not taken for a whole one
            yield item
    finally:
        pipe.left.set()


_NOTHING_YET = b""


def _take(pipe: _Pipe) -> bytes | BaseException | None:
    try:
        return pipe.pieces.get(timeout=1.0)
    except queue.Empty:
        return _NOTHING_YET
