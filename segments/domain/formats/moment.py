"""A moment as people and scripts write it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from segments.domain.formats.whole_number import whole_number

#: In the year 9987.
_LATEST_MS: Final = 253_000_000_000_000


def moment_at(ms: int) -> datetime:
    """Epoch milliseconds that others wrote, such as the time of a message: any number, so held within what a database
    takes.
    """
    return datetime.fromtimestamp(min(max(ms, 0), _LATEST_MS) / 1000, UTC)


def iso_moment(text: str) -> datetime:
    """A date, or a date and time, of ISO-8601; UTC where it names no zone. Raises ValueError for anything else."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def moment_of(text: str) -> datetime | None:
    """ISO-8601 (UTC where it names no zone) or epoch milliseconds; None for anything else."""
    number = whole_number(text)
    try:
        return datetime.fromtimestamp(number / 1000, UTC) if number is not None else iso_moment(text)
    except (ValueError, OverflowError, OSError):
        return None
