"""The ASGI application: access check, then an endpoint or a file of the page, then the response."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from pulseboard.core.errors import PulseboardError, RunNotFound, TagNotFound, ValuesNotHere
from pulseboard.serve.http import responses
from pulseboard.serve.http.endpoint import ApiRequest, Endpoint, load_endpoints
from pulseboard.serve.http.errors import (
    BadRequest,
    Forbidden,
    HttpError,
    MethodNotAllowed,
    NotFound,
    ServerBusy,
    TokenRequired,
)
from pulseboard.serve.http.page import Page
from pulseboard.serve.http.request import ClientDisconnected, Receive, Request, Scope, Send
from pulseboard.serve.http.responses import NotModified, Response, StreamingResponse, json_response
from pulseboard.serve.http.work import Workers
from pulseboard.serve.security.access import Guard, Token, is_local

if TYPE_CHECKING:
    from pulseboard.serve.live.dashboard import Dashboard

_CHUNK_BYTES = 256 << 10
# A client that reads nothing for this long is disconnected.
STALLED_SECS = 60.0

# In the address of the form after a link with a wrong token.
_WRONG_TOKEN = "wrong_token"

_log = logging.getLogger("pulseboard.serve")


class App:
    """An ASGI application.

    projects  dashboards of some runs only, by the prefix of their names, for tokens of these projects
    over_ssh  whether clients that appear local may be at the other end of an ssh tunnel
    on_ready  called when the server starts to accept requests
    """

    def __init__(
        self,
        dashboard: Dashboard,
        *,
        guard: Guard,
        page: Page,
        prefix: str = "",
        projects: Mapping[str, Dashboard] | None = None,
        over_ssh: bool = False,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        self.guard, self.page, self.prefix = guard, page, prefix
        self._dashboards = {**(projects or {}), "": dashboard}
        self.endpoints = load_endpoints()
        self._over_ssh = over_ssh
        self._on_ready = on_ready
        self._workers = Workers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(Request(scope, receive), send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._on_ready()
                await send({"type": "lifespan.startup.complete"})
            else:
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _http(self, request: Request, send: Send) -> None:
        try:
            response = await self._respond(request)
        except ClientDisconnected:
            return
        except NotModified as unchanged:
            response = Response(status=304, headers={"etag": unchanged.etag, "cache-control": "private, no-cache"})
        except HttpError as error:
            response = _error_response(error)
        except asyncio.CancelledError:  # uvicorn ends what still waits after its grace period, each with a traceback
            response = _error_response(ServerBusy("The server is stopping.", do="Try again when it is back."))
        except Exception:
            _log.exception("%s %s failed", request.method, request.path)
            error_body = {"error": {"what": "Internal server error.", "do": "The server's terminal shows the cause."}}
            response = json_response(error_body, status=500)
        if isinstance(response, StreamingResponse):
            await self._stream(response, request, send)
        else:
            await self._send(response, request, send)

    # ---- finding the response

    async def _respond(self, request: Request) -> Response | StreamingResponse:
        self.guard.check_origin(request)
        path = request.path
        if path == "/" and self.prefix:
            return _redirect(self.prefix + "/")
        if path == self.prefix and self.prefix:
            return _redirect(self.prefix + "/" + (f"?{request.query_string}" if request.query_string else ""))
        if not path.startswith(self.prefix + "/"):
            raise NotFound("No such page.", do=f"The dashboard is at {self.prefix}/")
        address = path.removeprefix(self.prefix + "/")
        if address.startswith("api/"):
            return await self._api(request, address.removeprefix("api/"))
        if request.method == "POST" and not address:
            return await self._log_in(request)
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed(request.method, allowed="GET")
        return self._page(request, address)

    async def _log_in(self, request: Request) -> Response:
        """Store the token of the form as a cookie, and show the page; or the form again."""
        form = parse_qs((await request.body()).decode("latin-1"), max_num_fields=10)
        token = form.get("token", [""])[0].strip()
        if self.guard.role_of_token(token) is None:
            return self.page.token_form(action=self.prefix + "/", wrong=True)
        return self._logged_in(request, token)

    def _logged_in(self, request: Request, token: str) -> Response:
        redirect = _redirect(self.prefix + "/", status=303 if request.method == "POST" else 302)
        if self.guard.tokens:
            redirect.headers["set-cookie"] = self.guard.cookie_for(token, secure=request.scheme == "https")
        return redirect

    def _page(self, request: Request, address: str) -> Response:
        if address:  # the page's code, which is not secret
            return self.page.respond(request, address)
        query = request.query()
        token = query.get("token", [None])[0]
        try:
            self.guard.role_of(request)
        except TokenRequired:
            if token is not None:
                # A wrong token must not stay in the address, where others can read it.
                return _redirect(f"{self.prefix}/?{_WRONG_TOKEN}")
            # A browser that follows a link from another site leaves out a strict cookie. The page contains no data,
            # and its own requests send the cookie.
            if request.headers.get("sec-fetch-site") != "cross-site":
                return self.page.token_form(action=self.prefix + "/", wrong=_WRONG_TOKEN in query)
        if token is not None:
            # Only a valid token is stored. Any page, and any link in a log, can bring another one.
            known = self.guard.role_of_token(token) is not None
            return self._logged_in(request, token) if known else _redirect(self.prefix + "/")
        return self.page.respond(request, "")

    async def _api(self, request: Request, path: str) -> Response | StreamingResponse:
        token = self.guard.token_of(request)
        methods = self.endpoints.get(path)
        if methods is None:
            raise NotFound("No such endpoint.", do="api/openapi.json lists all endpoints.")
        endpoint = methods.get("GET" if request.method == "HEAD" else request.method)
        if endpoint is None:
            raise MethodNotAllowed(request.method, allowed=", ".join(methods))
        if endpoint.full_role and token.role != "full":
            raise Forbidden("This token is read-only.", do="Use the server's full token.")
        return await self._call(endpoint, request, token)

    async def _call(self, endpoint: Endpoint, request: Request, token: Token) -> Response | StreamingResponse:
        api_request = await endpoint.read(request, role=token.role, user=self.guard.user_of)
        dashboard = self._dashboards[token.project]
        if not endpoint.inline:
            dashboard.diagnosis.yield_to_requests()
        try:
            if endpoint.inline:
                response = _respond(endpoint, dashboard, api_request)
            else:
                response = await self._workers.run(
                    functools.partial(_respond, endpoint, dashboard, api_request),
                    lane=endpoint.lane,
                    client=request.client,
                    disconnected=request.disconnected,
                )
        except (RunNotFound, TagNotFound) as error:
            raise NotFound(str(error), do="api/runs and api/tags list the runs and tags.") from error
        except ValuesNotHere as error:
            raise NotFound(str(error)) from error
        except HttpError:
            raise
        except PulseboardError as error:
            raise BadRequest(str(error)) from error
        except OSError as error:  # a log that was truncated, removed or replaced since it was read
            what = f"The log can no longer be read: {error.strerror or error}."
            raise NotFound(what, do="Try again in a few seconds.") from error
        response.headers.setdefault("cache-control", "private, no-cache")
        if api_request.etag is not None:
            response.headers.setdefault("etag", api_request.etag)
        return response

    def close(self) -> None:
        """Cancel what is being computed."""
        self._workers.close()

    # ---- sending it

    async def _send(self, response: Response, request: Request, send: Send) -> None:
        body, headers = response.body, response.headers
        if response.compress and self._is_worth_compressing(response, request):
            accepted = request.headers.get("accept-encoding", "")
            if len(body) > 100_000:
                work = functools.partial(responses.compress, body, accepted)
                body, encoding = await self._workers.run(work, client=request.client)
            else:
                body, encoding = responses.compress(body, accepted)
            headers["vary"] = "accept-encoding"
            if encoding is not None:
                headers["content-encoding"] = encoding
        if response.status != 304:
            headers["content-type"] = response.media_type
            headers["content-length"] = str(len(body))
        await send(self._start(response.status, headers))
        if request.method == "HEAD" or response.status == 304:
            body = b""
        try:
            for at in range(0, len(body) or 1, _CHUNK_BYTES):
                chunk = body if len(body) <= _CHUNK_BYTES else body[at : at + _CHUNK_BYTES]
                more = at + _CHUNK_BYTES < len(body)
                sending = send({"type": "http.response.body", "body": chunk, "more_body": more})
                await _with_timeout(sending, len(chunk))
        except asyncio.TimeoutError:
            _log_stalled()

    def _is_worth_compressing(self, response: Response, request: Request) -> bool:
        """Sending numbers uncompressed to a client on this machine is faster than compressing them."""
        return response.media_type != responses.COLUMNS or self._over_ssh or not is_local(request.client)

    async def _stream(self, response: StreamingResponse, request: Request, send: Send) -> None:
        headers = {**response.headers, "content-type": response.media_type, "x-accel-buffering": "no"}
        chunks = response.chunks
        disconnected = asyncio.ensure_future(request.disconnected())
        try:
            await send(self._start(response.status, headers))
            if request.method == "HEAD":
                await send({"type": "http.response.body", "body": b""})
                return
            async for chunk in _until(chunks, disconnected):
                message = {"type": "http.response.body", "body": chunk, "more_body": True}
                await asyncio.wait_for(send(message), STALLED_SECS)
            await send({"type": "http.response.body", "body": b""})
        except asyncio.TimeoutError:
            _log_stalled()
        finally:
            disconnected.cancel()
            close = getattr(chunks, "aclose", None)
            if close is not None:
                await close()
            if response.on_end is not None:
                response.on_end()

    def _start(self, status: int, headers: dict[str, str]) -> dict[str, Any]:
        # A response's own headers win: it may set a stricter policy.
        merged = {**self.guard.headers, **headers}
        return {
            "type": "http.response.start",
            "status": status,
            "headers": [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in merged.items()],
        }


def _respond(endpoint: Endpoint, dashboard: Dashboard, request: ApiRequest) -> Response | StreamingResponse:
    """The endpoint's response. JSON is encoded here, on the same thread: a large one would hold up the event loop."""
    with dashboard.runs.contained():
        result = endpoint.handler(dashboard, request)
    return result if isinstance(result, Response | StreamingResponse) else json_response(result)


async def _with_timeout(sending: Awaitable[None], size: int) -> None:
    # A small chunk fits the socket's buffer; a timeout would cost more than sending it.
    if size < _CHUNK_BYTES:
        await sending
    else:
        await asyncio.wait_for(sending, STALLED_SECS)


def _log_stalled() -> None:
    _log.info("Disconnected a client that read nothing for %.0f s.", STALLED_SECS)


async def _until(chunks: AsyncIterator[bytes], disconnected: asyncio.Future[Any]) -> AsyncIterator[bytes]:
    """The chunks, until there are no more or the client has disconnected."""
    iterator = chunks.__aiter__()
    while True:
        step: asyncio.Future[Any] = asyncio.ensure_future(iterator.__anext__())
        await asyncio.wait({step, disconnected}, return_when=asyncio.FIRST_COMPLETED)
        if not step.done():
            step.cancel()
            await asyncio.gather(step, return_exceptions=True)
            return
        try:
            yield step.result()
        except StopAsyncIteration:
            return
        if disconnected.done():
            return


def _redirect(location: str, *, status: int = 302) -> Response:
    return Response(status=status, media_type="text/plain", headers={"location": location, "cache-control": "no-store"})


def _error_response(error: HttpError) -> Response:
    headers = {"cache-control": "no-store"}
    if isinstance(error, MethodNotAllowed):
        headers["allow"] = error.allowed
    if isinstance(error, TokenRequired):
        headers["www-authenticate"] = "Bearer"
    if isinstance(error, ServerBusy):
        headers["retry-after"] = "1"
    return json_response({"error": {"what": error.what, "do": error.do}}, status=error.status, **headers)
