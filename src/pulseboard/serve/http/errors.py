"""HTTP errors: a status, what is wrong with the request, and what to do about it."""

from __future__ import annotations

from pulseboard.core.errors import PulseboardError


class HttpError(PulseboardError):
    """An error response, sent as `{"error": {"what": ..., "do": ...}}`."""

    status = 400

    def __init__(self, what: str, *, do: str = "") -> None:
        self.what, self.do = what, do
        super().__init__(f"{what} {do}".rstrip())


class BadRequest(HttpError):
    """The request is invalid. The client must change it."""

    status = 400


class TokenRequired(HttpError):
    """The request has no valid token. The client must send one."""

    status = 401


class Forbidden(HttpError):
    """The token or the origin of the request does not allow this."""

    status = 403


class NotFound(HttpError):
    """There is no such page, endpoint, run or tag."""

    status = 404


class MethodNotAllowed(HttpError):
    """The address exists, but for other methods."""

    status = 405

    def __init__(self, method: str, *, allowed: str) -> None:
        self.allowed = allowed
        super().__init__(f"{method} is not allowed here.", do=f"Use {allowed}.")


class Conflict(HttpError):
    """The request does not fit the state of what it would change."""

    status = 409


class TooLarge(HttpError):
    """The request or its response is too large. The client must ask for less."""

    status = 413


class ServerBusy(HttpError):
    """Too many requests at once. The same request may succeed later."""

    status = 503


class CannotStore(HttpError):
    """The disk refuses what the request wants to keep. The request is fine, and may succeed later."""

    status = 507
