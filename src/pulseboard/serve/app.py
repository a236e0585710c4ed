"""The application: a request goes past the guard, to its endpoint or the page, and out as an answer."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from pulseboard.core.errors import PulseboardError, RunNotFound, TagNotFound
from pulseboard.serve import answers
from pulseboard.serve.access import Guard, Role, is_local
from pulseboard.serve.answers import Answer, NotModified, Streamed, json_answer
from pulseboard.serve.endpoint import Endpoint, load_endpoints
from pulseboard.serve.errors import BadRequest, Busy, Forbidden, NeedsToken, NotFound, Refused, WrongMethod
from pulseboard.serve.page import Page
from pulseboard.serve.request import ClientGone, Receive, Request, Scope, Send

if TYPE_CHECKING:
    from pulseboard.serve.board import Board

T = TypeVar("T")

# The kernel lets go of the interpreter while it works; beyond this, threads only wait for each other.
_THREADS = 6
_MOST_WAITING = 512
_PIECE_BYTES = 256 << 10
# A client that takes nothing for so long is let go.
STALLED_SECS = 60.0

_log = logging.getLogger("pulseboard.serve")


class App:
    """An ASGI application."""

    def __init__(self, board: Board, *, guard: Guard, page: Page, prefix: str = "", far: bool = False) -> None:
        self.board, self.guard, self.page, self.prefix = board, guard, page, prefix
        self.endpoints = load_endpoints()
        # Whether clients that seem to be on this machine are at the other end of a tunnel.
        self._far = far
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="pulseboard-serve")
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            answer = await self._answer(request)
        except ClientGone:
            return
        except NotModified as same:
            answer = Answer(status=304, headers={"etag": same.tag, "cache-control": "private, no-cache"})
        except Refused as error:
            answer = _refusal(error)
        except Exception:
            _log.exception("%s %s failed", request.method, request.path)
            answer = json_answer({"error": {"what": "The server failed.", "do": "Its terminal says why."}}, status=500)
        if isinstance(answer, Streamed):
            await self._send_pieces(answer, request, send)
        else:
            await self._send_whole(answer, request, send)

    # ---- finding the answer

    async def _answer(self, request: Request) -> Answer | Streamed:
        self.guard.check_place(request)
        path = request.path
        if path == "/" and self.prefix:
            return _moved(self.prefix + "/")
        if path == self.prefix and self.prefix:
            return _moved(self.prefix + "/" + (f"?{request.query_string}" if request.query_string else ""))
        if not path.startswith(self.prefix + "/"):
            raise NotFound("There is nothing at this address.", do=f"The page is at {self.prefix}/")
        below = path.removeprefix(self.prefix + "/")
        if below.startswith("api/"):
            return await self._api(request, below.removeprefix("api/"))
        if request.method not in ("GET", "HEAD"):
            raise WrongMethod(request.method, allowed="GET")
        return self._page(request, below)

    def _page(self, request: Request, below: str) -> Answer:
        if below:  # the page's code, which is no secret
            return self.page.answer(request, below)
        token = request.query().get("token", [None])[0]
        try:
            self.guard.role_of(request)
        except NeedsToken:
            # From a link on another site the browser leaves a strict cookie out. The page has no data in it, and its
            # own requests bring the cookie along.
            if token is not None or request.headers.get("sec-fetch-site") != "cross-site":
                return self.page.token_form()
        if token is not None:
            moved = _moved(self.prefix + "/")
            if self.guard.tokens:
                moved.headers["set-cookie"] = self.guard.cookie_for(token, secure=request.scheme == "https")
            return moved
        return self.page.answer(request, "")

    async def _api(self, request: Request, name: str) -> Answer | Streamed:
        role = self.guard.role_of(request)
        methods = self.endpoints.get(name)
        if methods is None:
            raise NotFound("The interface has nothing of this name.", do="See api/openapi.json for what it has.")
        found = methods.get("GET" if request.method == "HEAD" else request.method)
        if found is None:
            raise WrongMethod(request.method, allowed=", ".join(methods))
        if found.full_role and role != "full":
            raise Forbidden("This token may read, and change nothing.", do="Use the server's full token.")
        return await self._ask(found, request, role)

    async def _ask(self, found: Endpoint, request: Request, role: Role) -> Answer | Streamed:
        ask = await found.ask(request, role=role)
        if not found.inline:
            self.board.diagnosis.stand_back()
        try:
            said = (
                found.answer(self.board, ask)
                if found.inline
                else await self._in_a_thread(found.answer, self.board, ask)
            )
        except (RunNotFound, TagNotFound) as error:
            raise NotFound(str(error), do="See api/runs and api/tags for what there is.") from error
        except Refused:
            raise
        except PulseboardError as error:
            raise BadRequest(str(error)) from error
        answer = said if isinstance(said, Answer | Streamed) else json_answer(said)
        answer.headers.setdefault("cache-control", "private, no-cache")
        if ask.tag is not None:
            answer.headers.setdefault("etag", ask.tag)
        return answer

    async def _in_a_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        if self._waiting >= _MOST_WAITING:
            raise Busy("Too many questions are waiting.", do="Ask again in a second.")
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, functools.partial(function, *arguments))
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    # ---- sending it

    async def _send_whole(self, answer: Answer, request: Request, send: Send) -> None:
        body, headers = answer.body, answer.headers
        if answer.compress and self._pays(answer, request):
            accepted = request.headers.get("accept-encoding", "")
            if len(body) > 100_000:
                body, encoding = await self._in_a_thread(answers.compressed, body, accepted)
            else:
                body, encoding = answers.compressed(body, accepted)
            headers["vary"] = "accept-encoding"
            if encoding is not None:
                headers["content-encoding"] = encoding
        if answer.status != 304:
            headers["content-type"] = answer.media_type
            headers["content-length"] = str(len(body))
        await send(self._start(answer.status, headers))
        if request.method == "HEAD" or answer.status == 304:
            body = b""
        try:
            for at in range(0, len(body) or 1, _PIECE_BYTES):
                piece = body if len(body) <= _PIECE_BYTES else body[at : at + _PIECE_BYTES]
                await _within(
                    send({"type": "http.response.body", "body": piece, "more_body": at + _PIECE_BYTES < len(body)}),
                    len(piece),
                )
        except asyncio.TimeoutError:
            _log.info("A client took nothing for %.0f s and was let go.", STALLED_SECS)

    def _pays(self, answer: Answer, request: Request) -> bool:
        """Whether compressing saves time: numbers, to a client on this machine, travel faster as they are."""
        return answer.media_type != answers.COLUMNS or self._far or not is_local(request.client)

    async def _send_pieces(self, answer: Streamed, request: Request, send: Send) -> None:
        headers = {**answer.headers, "content-type": answer.media_type, "x-accel-buffering": "no"}
        pieces = answer.pieces
        gone = asyncio.ensure_future(request.gone())
        try:
            await send(self._start(answer.status, headers))
            if request.method == "HEAD":
                await send({"type": "http.response.body", "body": b""})
                return
            async for piece in _until(pieces, gone):
                await asyncio.wait_for(
                    send({"type": "http.response.body", "body": piece, "more_body": True}), STALLED_SECS
                )
            await send({"type": "http.response.body", "body": b""})
        except asyncio.TimeoutError:
            _log.info("A client took nothing for %.0f s and was let go.", STALLED_SECS)
        finally:
            gone.cancel()
            close = getattr(pieces, "aclose", None)
            if close is not None:
                await close()
            if answer.give_up is not None:
                answer.give_up()

    def _start(self, status: int, headers: dict[str, str]) -> dict[str, Any]:
        # Its own words first: an answer may be stricter than the rest.
        every = {**self.guard.headers, **headers}
        return {
            "type": "http.response.start",
            "status": status,
            "headers": [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in every.items()],
        }


async def _within(sending: Any, size: int) -> None:
    # Small answers fit the socket's buffer; the watch over them would cost more than they do.
    if size < _PIECE_BYTES:
        await sending
    else:
        await asyncio.wait_for(sending, STALLED_SECS)


async def _until(pieces: Any, gone: asyncio.Future[None]) -> Any:
    """The pieces, until there are no more or the client has gone."""
    iterator = pieces.__aiter__()
    while True:
        step = asyncio.ensure_future(iterator.__anext__())
        await asyncio.wait({step, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not step.done():
            step.cancel()
            await asyncio.gather(step, return_exceptions=True)
            return
        try:
            yield step.result()
        except StopAsyncIteration:
            return
        if gone.done():
            return


def _moved(to: str) -> Answer:
    return Answer(status=302, media_type="text/plain", headers={"location": to, "cache-control": "no-store"})


def _refusal(error: Refused) -> Answer:
    headers = {"cache-control": "no-store"}
    if isinstance(error, WrongMethod):
        headers["allow"] = error.allowed
    if isinstance(error, NeedsToken):
        headers["www-authenticate"] = "Bearer"
    if isinstance(error, Busy):
        headers["retry-after"] = "1"
    return json_answer({"error": {"what": error.what, "do": error.do}}, status=error.status, **headers)
