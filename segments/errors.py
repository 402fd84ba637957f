"""The error tree: what went wrong, whether trying again can help, and what the person should do.

Three outcomes of a write are three types (rule `three-outcomes`): ``Conflict`` (somebody was faster: decide again),
``OutcomeUnknown`` (the reply was lost: read before anything else) and ``Rejected`` (stop and say why).
"""

from __future__ import annotations

from typing import Any

from segments.secret_texts import mask_text


class PinotAdminError(Exception):
    """Base of all our errors.

    ``message`` says what is wrong and with which thing; ``remedy`` what to do; ``data`` holds machine-readable details
    (for example ``entry`` or ``segments``). ``status`` is the HTTP status the API answers with. Passwords in addresses
    are masked.
    """

    status = 500
    permanent = True

    def __init__(self, message: str, *, remedy: str = "", **data: Any) -> None:
        message = mask_text(message)  # an address in it may hold a password
        super().__init__(message)
        self.message = message
        self.remedy = mask_text(remedy)
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class Conflict(PinotAdminError):
    """A conditional write lost: the version on record is another one. Read and decide again."""

    status = 409
    permanent = False


class OutcomeUnknown(PinotAdminError):
    """The write may or may not have happened. Read the record to find out; never delete on this."""

    status = 503
    permanent = False


class Unavailable(PinotAdminError):
    """A part this needs (ZooKeeper, Redis, a server, the deep store) does not answer now."""

    status = 503
    permanent = False


class Rejected(PinotAdminError):
    """The request cannot be done as asked; trying again without a change does not help."""

    status = 400


class InvalidInput(Rejected):
    """A value given by the caller is malformed or does not fit."""

    status = 400


class NotAuthenticated(Rejected):
    """No or wrong credentials."""

    status = 401


class Forbidden(Rejected):
    """The caller may not do this, or a rule of the table forbids it."""

    status = 403


class NotFound(Rejected):
    """The named thing does not exist."""

    status = 404


class StateConflict(Rejected):
    """The thing is in a state that does not allow this."""

    status = 409


class Gone(Rejected):
    """The thing a refresh wants to replace does not exist (REFRESH_ONLY)."""

    status = 410


class PreconditionFailed(Rejected):
    """A condition given by the caller (If-Match) or required by the protocol does not hold."""

    status = 412


class PayloadTooLarge(Rejected):
    """More bytes than are taken in."""

    status = 413


class TooManyRequests(PinotAdminError):
    """More than is taken in a while; ``data["retry_after_s"]`` says in how many seconds to try again."""

    status = 429
    permanent = False


class SegmentCorrupt(PinotAdminError):
    """A segment file is not what it claims to be; names file, column and offset where known."""

    status = 400


class SegmentTooLarge(SegmentCorrupt):
    """A segment file, or what it unpacks to, is larger than is taken in."""

    status = 413


class RecordCorrupt(PinotAdminError):
    """A znode holds bytes that are no valid record. Corrupt is never taken for missing."""

    status = 500
