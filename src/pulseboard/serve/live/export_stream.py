"""Exports sent to a client while a thread writes them, a few chunks ahead of what the client has read."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncIterator
from typing import IO, Any, cast

from pulseboard.core.errors import MissingPackage
from pulseboard.export import write as export
from pulseboard.export.format import export_formats
from pulseboard.export.write import Selection
from pulseboard.serve.http.errors import BadRequest, ServerBusy
from pulseboard.serve.http.responses import StreamingResponse

MEDIA_TYPES = {format.id: format.media_type for format in export_formats().values()}
# Each export has its own thread and a few chunks of memory.
_MAX_EXPORTS = 8
_CHUNK_BYTES = 256 << 10
_CHUNKS_AHEAD = 4

_free_slots = threading.BoundedSemaphore(_MAX_EXPORTS)


class _ClientLeft(Exception):
    """The client has disconnected: the export ends."""


class _Pipe:
    """A file to write to whose chunks another thread reads. Writing blocks while nobody reads."""

    def __init__(self) -> None:
        self.chunks: queue.Queue[bytes | BaseException | None] = queue.Queue(_CHUNKS_AHEAD)
        self.client_left = threading.Event()
        self.closed = False
        self._parts: list[bytes] = []
        self._size = self._position = 0

    def write(self, data: Any) -> int:
        """Collect bytes, and pass them on in chunks."""
        part = bytes(data)
        self._parts.append(part)
        self._size += len(part)
        self._position += len(part)
        if self._size >= _CHUNK_BYTES:
            self.flush()
        return len(part)

    def flush(self) -> None:
        """Pass on what was collected."""
        if self._parts:
            self.put(b"".join(self._parts))
            self._parts, self._size = [], 0

    def put(self, item: bytes | BaseException | None) -> None:
        """Wait for room, then pass on a chunk, an error, or None for the end."""
        while not self.client_left.is_set():
            with contextlib.suppress(queue.Full):
                self.chunks.put(item, timeout=0.2)
                return
        raise _ClientLeft

    # What pyarrow needs of a file.

    def tell(self) -> int:
        return self._position

    def seekable(self) -> bool:
        return False

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


def stream_export(picked: Selection, *, form: str, orphans: bool) -> StreamingResponse:
    """The export as a file download."""
    try:
        export_formats()[form].require_packages()  # now: once the stream has begun, an error cannot be sent
    except MissingPackage as error:
        raise BadRequest(str(error)) from error
    if not _free_slots.acquire(blocking=False):
        raise ServerBusy(f"Server busy: {_MAX_EXPORTS} exports are running.", do="Try again when one has finished.")
    pipe = _Pipe()

    def work() -> None:
        try:
            export.write(picked, cast(IO[bytes], pipe), format=form, orphans=orphans)
            pipe.flush()
            pipe.put(None)
        except _ClientLeft:
            pass
        except BaseException as error:
            with contextlib.suppress(_ClientLeft):
                pipe.put(error)
        finally:
            _free_slots.release()

    thread = threading.Thread(target=work, name="pulseboard-export", daemon=True)
    headers = {"content-disposition": f'attachment; filename="pulseboard.{form}"', "cache-control": "no-store"}
    return StreamingResponse(
        _chunks(pipe, thread), MEDIA_TYPES[form], headers=headers, on_end=lambda: _end(pipe, thread)
    )


def _end(pipe: _Pipe, thread: threading.Thread) -> None:
    pipe.client_left.set()
    if thread.ident is None:  # no chunk was read, so the thread never started
        _free_slots.release()


async def _chunks(pipe: _Pipe, thread: threading.Thread) -> AsyncIterator[bytes]:
    thread.start()
    loop = asyncio.get_running_loop()
    try:
        while True:
            try:
                item = pipe.chunks.get_nowait()
            except queue.Empty:
                item = await loop.run_in_executor(None, _next_chunk, pipe)
                if item is _NOTHING_YET:
                    continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item  # closes the connection, so that the client does not mistake half a file for a whole one
            yield item
    finally:
        pipe.client_left.set()


_NOTHING_YET = b""


def _next_chunk(pipe: _Pipe) -> bytes | BaseException | None:
    try:
        return pipe.chunks.get(timeout=1.0)
    except queue.Empty:
        return _NOTHING_YET
