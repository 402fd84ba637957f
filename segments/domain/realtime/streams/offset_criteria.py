"""Where a partition's first segment begins: ``auto.offset.reset`` as smallest, largest, a period before now, or a
moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from segments.domain.formats.moment import iso_moment
from segments.domain.tables.table_config import parse_period
from segments.errors import InvalidInput

CriteriaKind = Literal["smallest", "largest", "period", "timestamp"]


@dataclass(frozen=True)
class OffsetCriteria:
    """``value``: length of the period or the moment, milliseconds; 0 for smallest and largest. ``text`` as given."""

    kind: CriteriaKind
    value: int
    text: str

    def moment_ms(self, now_ms: int) -> int | None:
        """Epoch milliseconds from which to read; None for smallest and largest."""
        return {"period": now_ms - self.value, "timestamp": self.value}.get(self.kind)


SMALLEST: Final = OffsetCriteria("smallest", 0, "smallest")
LARGEST: Final = OffsetCriteria("largest", 0, "largest")


def parse_criteria(text: str) -> OffsetCriteria:
    """``smallest``, ``largest`` (any case; Kafka's ``earliest``, ``latest`` too), ``2h30m``, or
    ``2022-08-09T12:31:38.222Z``.

    Raises InvalidInput for anything else.
    """
    word = text.strip().lower()
    if word in ("smallest", "earliest"):
        return SMALLEST
    if word in ("largest", "latest"):
        return LARGEST
    period = parse_period(text)
    if period is not None:
        return OffsetCriteria("period", period, text)
    try:
        moment = iso_moment(text.strip())
    except ValueError as error:
        raise InvalidInput(
            f"'auto.offset.reset' is {text!r}.",
            remedy="Use smallest, largest, a period such as 2h, or a time such as 2022-08-09T12:31:38.222Z.",
        ) from error
    return OffsetCriteria("timestamp", int(moment.timestamp() * 1_000), text)
