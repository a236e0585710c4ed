"""What a request can be refused for: a status, what was wrong, and what to do about it."""

from __future__ import annotations

from pulseboard.core.errors import PulseboardError


class Refused(PulseboardError):
    """An answer that is an error. Sent as `{"error": {"what": ..., "do": ...}}`."""

    status = 400

    def __init__(self, what: str, *, do: str = "") -> None:
        self.what, self.do = what, do
        super().__init__(f"{what} {do}".rstrip())


class BadRequest(Refused):
    """The request cannot be understood. The caller must change it."""

    status = 400


class NeedsToken(Refused):
    """Nobody has said who asks. The caller must bring a token."""

    status = 401


class Forbidden(Refused):
    """Who asks may not do this, or asks from a place that may not."""

    status = 403


class NotFound(Refused):
    """There is nothing of this name."""

    status = 404


class WrongMethod(Refused):
    """The address is there, for other methods."""

    status = 405

    def __init__(self, method: str, *, allowed: str) -> None:
        self.allowed = allowed
        super().__init__(f"{method} is not possible here.", do=f"Use {allowed}.")


class TooLarge(Refused):
    """The request, or its answer, would be too large. The caller must ask for less."""

    status = 413


class Busy(Refused):
    """Too much is being asked at once. The same request may succeed later."""

    status = 503
