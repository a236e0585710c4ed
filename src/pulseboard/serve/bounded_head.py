"""HTTP with an end to what may come before a request's body.

uvicorn puts an address together piece by piece, which takes quadratic time: one of forty megabytes would hold back
everybody else for seconds.
"""

from __future__ import annotations

from pulseboard.serve.light_import import import_lightly

import_lightly("uvicorn")

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol  # noqa: E402 - after the line above

MOST_HEAD_BYTES = 256 << 10


class BoundedHead(HttpToolsProtocol):
    """A connection that is ended when a request's head is too large."""

    _in_head = True
    _head_bytes = 0

    def data_received(self, data: bytes) -> None:
        """Take more of what the client sends."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response(f"The address and the headers are too large: at most {MOST_HEAD_BYTES} bytes.")

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its body begins."""
        self._in_head = False
        super().on_headers_complete()
