"""What a fault of the database is for who asked: it cannot be reached, or it refuses what it was given to keep."""

from __future__ import annotations

from typing import Final

from django.db import DataError, InterfaceError, OperationalError

from segments.errors import InvalidInput, PinotAdminError, Unavailable

#: What Django raises when the database does not answer, ends a connection, or is too busy.
UNREACHABLE: Final = (OperationalError, InterfaceError)
#: Seconds after which a refused client may try again: as long as a restart takes.
AGAIN_S: Final = 5


def as_refusal(error: BaseException | None) -> PinotAdminError | None:
    """The same as an error of ours: Unavailable (503) for a database that does not answer, InvalidInput (400) for a
    text that it cannot keep; None for every other exception.
    """
    if isinstance(error, UNREACHABLE):
        return unavailable()
    # Of a number that is too long SQLite's driver says so itself, before it asks.
    if isinstance(error, DataError) or (isinstance(error, OverflowError) and "SQLite" in str(error)):
        return InvalidInput(
            "The request holds a value that cannot be kept: a text with the character U+0000, a text or a number "
            "that is too long.",
            remedy="Leave it out, or shorten it.",
        )
    return None


def unavailable() -> Unavailable:
    """To raise when the database does not answer."""
    return Unavailable(
        "The database does not answer now.",
        remedy="Try again in some seconds; /health/readiness says when it is back.",
        retry_after_s=AGAIN_S,
    )
