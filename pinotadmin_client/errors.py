"""What a call may raise: a refusal by its kind, or no answer at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final


class ClientError(Exception):
    """Base of all errors of this package. ``is_shown``: a command has printed what went wrong as JSON already."""

    is_shown = False


class NoAnswer(ClientError):
    """The installation was not reached, or broke the connection. Whether a change was made is not known."""


class TimedOut(NoAnswer):
    """It did not answer within the time-out. Whether a change was made is not known."""


class UnexpectedAnswer(ClientError):
    """The answer is not what the OpenAPI document promises: another version, or something else at that address."""


class ApiError(ClientError):
    """The installation refused the call. ``status``: HTTP status; ``remedy``: what to do; ``data``: the whole body."""

    def __init__(self, status: int, message: str, remedy: str = "", data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.remedy = remedy
        self.data = data or {}


class Invalid(ApiError):
    """400, 406, 413, 415: a parameter or the body is malformed."""


class NotSignedIn(ApiError):
    """401: no or wrong credentials."""


class NotAllowed(ApiError):
    """403: the user has not the right, or a rule of the table forbids it."""


class NotFound(ApiError):
    """404, 410: the table, entry, push or other thing does not exist."""


class Conflict(ApiError):
    """409, 412: the state, or a check, does not allow it now."""


class TooMany(ApiError):
    """429: too many requests or wrong passwords."""


class ServerFault(ApiError):
    """5xx: a part does not answer, or a fault of the installation."""


_BY_STATUS: Final[Mapping[int, type[ApiError]]] = {
    400: Invalid,
    401: NotSignedIn,
    403: NotAllowed,
    404: NotFound,
    406: Invalid,
    409: Conflict,
    410: NotFound,
    412: Conflict,
    413: Invalid,
    415: Invalid,
    429: TooMany,
}


def error_of(status: int, body: Any, text: str) -> ApiError:
    """The error for a status from 300 on. ``body``: parsed JSON or None, ``text``: the answer as it came."""
    kind = _BY_STATUS.get(status, ServerFault if status >= 500 else ApiError)
    if not isinstance(body, dict):
        return kind(status, text[:300] or f"HTTP {status}")
    return kind(status, str(body.get("error") or text[:300]), str(body.get("remedy") or ""), body)
