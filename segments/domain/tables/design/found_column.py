"""A column as found in a sample of input rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

#: Types of numbers.
NUMBERS: Final = ("INT", "LONG", "FLOAT", "DOUBLE", "BIG_DECIMAL")


@dataclass(frozen=True)
class FoundColumn:
    """``source`` is its name in the file, ``name`` the one it gets. ``format`` is that of a date or time, "" of other
    columns.

    Of the sample: ``rows``, ``nulls``, ``distinct`` values; ``example`` is a value as written and, of a time,
    ``parsed`` is the moment it means (ISO-8601, UTC), ``times`` the first and last one (epoch milliseconds).
    ``misfits`` values do not fit ``nearly``, the type that all others fit ("": there is no such type);
    ``misfit_examples`` are some of them.
    """

    name: str
    source: str
    data_type: str
    format: str = ""
    multi_value: bool = False
    rows: int = 0
    nulls: int = 0
    distinct: int = 0
    example: str = ""
    parsed: str = ""
    times: tuple[int, int] | None = None
    nearly: str = ""
    misfits: int = 0
    misfit_examples: tuple[str, ...] = ()

    @property
    def is_time(self) -> bool:
        """Is it a date or time?"""
        return bool(self.format)

    @property
    def is_unique(self) -> bool:
        """Has every row of the sample a value of its own?"""
        return self.rows > 0 and not self.nulls and self.distinct == self.rows and not self.multi_value

    def to_json(self) -> dict[str, Any]:
        """As the REST API answers it."""
        found: dict[str, Any] = {
            "name": self.name, "source": self.source, "dataType": self.data_type, "singleValue": not self.multi_value,
            "rows": self.rows, "nulls": self.nulls, "distinct": self.distinct, "unique": self.is_unique,
            "example": self.example,
        }  # fmt: skip
        if self.format:
            found |= {"format": self.format, "parsed": self.parsed}
        if self.nearly:
            found["almost"] = {
                "dataType": self.nearly, "misfits": self.misfits, "examples": list(self.misfit_examples)
            }  # fmt: skip
        return found
