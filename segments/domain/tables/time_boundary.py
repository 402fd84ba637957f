"""Time boundary of a hybrid table: up to which time the OFFLINE side answers, and from where on the REALTIME side does.

Rule (Pinot's broker): the newest end time of the OFFLINE segments that queries see, less one hour for tables pushed
hourly, else one day. The OFFLINE side answers ``column <= boundary``, the REALTIME side ``column > boundary``, so no
row counts twice or is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

from segments.domain.tables.datetime_format import MILLIS, DateTimeFormat, java_to_strptime, parse_format
from segments.domain.tables.schema import Schema
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
Operator = Literal["<=", ">"]


@dataclass(frozen=True)
class TimeFilter:
    """One side's share: rows whose ``column`` compares so with ``value`` (as the column stores it)."""

    column: str
    operator: Operator
    value: int | str

    def to_json(self) -> dict[str, Any]:
        """The form that broker and server exchange."""
        return {"column": self.column, "operator": self.operator, "value": self.value}


@dataclass(frozen=True)
class TimeBoundary:
    """``value`` as the time column stores it."""

    column: str
    value: int | str

    @property
    def offline(self) -> TimeFilter:
        """What the OFFLINE side answers."""
        return TimeFilter(self.column, "<=", self.value)

    @property
    def realtime(self) -> TimeFilter:
        """What the REALTIME side answers."""
        return TimeFilter(self.column, ">", self.value)


def parse_time_filter(body: Mapping[str, Any]) -> TimeFilter:
    """The filter of a request. Raises InvalidInput."""
    column, operator, value = body.get("column"), body.get("operator"), body.get("value")
    if not isinstance(column, str) or operator not in ("<=", ">") or not isinstance(value, (int, str)):
        raise InvalidInput("A time filter has 'column', 'operator' (<= or >) and 'value'.")
    return TimeFilter(column, operator, value)


def time_boundary(config: TableConfig, schema: Schema, end_times_ms: Iterable[int]) -> TimeBoundary | None:
    """The boundary of the OFFLINE table ``config`` whose visible segments end at these times (milliseconds).

    None when there is none: no time column, or no segment with an end time. Then the REALTIME side answers alone, as in
    Pinot.
    """
    column, newest = config.time_column, max((t for t in end_times_ms if t > 0), default=None)
    if column is None or newest is None or column not in schema.by_name:
        return None
    spec = schema.by_name[column]
    form = parse_format(spec.format or "TIMESTAMP")
    value = _formatted(newest - _offset_ms(config, form), form)
    return TimeBoundary(column, value if spec.stored_type == "STRING" else int(value))


def _offset_ms(config: TableConfig, form: DateTimeFormat) -> int:
    """A column in days cannot distinguish hours, so it keeps the day."""
    frequency = config.batch.segment_ingestion_frequency or config.segments.segment_push_frequency or ""
    return HOUR_MS if frequency.lower() == "hourly" and form.unit != "DAYS" else DAY_MS


def _formatted(time_ms: int, form: DateTimeFormat) -> int | str:
    if form.kind != "SIMPLE_DATE_FORMAT":
        return int(time_ms // (form.size * MILLIS[form.unit]))
    moment = datetime.fromtimestamp(time_ms / 1000, UTC).astimezone(ZoneInfo(form.zone))
    pattern = java_to_strptime(form.pattern, to_write=True).replace("%f", f"{time_ms % 1000:03d}")
    return moment.strftime(pattern)
