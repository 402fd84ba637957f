"""Values of a config that would have no effect because nobody can read them: a retention of ``soon`` keeps rows for
ever, a quota of ``lots`` allows everything; and limits of queries that Pinot refuses because no query could keep them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from segments.domain.segments.admission import parse_size
from segments.domain.tables.table_config import UNIT_MS, TableConfig, parse_period
from segments.errors import InvalidInput
from segments.names import shown

#: Attribute of ``segmentsConfig`` and its key.
_PERIODS: Final = (
    ("deleted_segments_retention_period", "deletedSegmentsRetentionPeriod"),
    ("replaced_segments_retention_period", "replacedSegmentsRetentionPeriod"),
    ("lineage_entry_cleanup_retention_period", "lineageEntryCleanupRetentionPeriod"),
)
#: Attribute of ``query`` and its key: numbers from 1 on, as Pinot's own ``QueryConfig`` asks.
_QUERY_LIMITS: Final = (
    ("timeout_ms", "timeoutMs", "Give milliseconds from 1 on"),
    ("max_query_response_size_bytes", "maxQueryResponseSizeBytes", "Give bytes from 1 on"),
    ("max_server_response_size_bytes", "maxServerResponseSizeBytes", "Give bytes from 1 on"),
)


def check_readable(config: TableConfig, before: TableConfig | None = None) -> None:
    """Raises InvalidInput that names the key of a value that cannot be read. What stands in ``before``, too, which this
    config replaces, is accepted.
    """
    known = {str(error) for error in _unreadable(before)} if before is not None else set()
    for error in _unreadable(config):
        if str(error) not in known:
            raise error


def _unreadable(config: TableConfig) -> Iterator[InvalidInput]:
    for attribute, key in _PERIODS:
        text = getattr(config.segments, attribute)
        if text and parse_period(text) is None:
            yield _error(f"segmentsConfig.{key}", text, "a period", "Write for example 7d, 12h or 1d12h.")
    yield from _retention(config)
    quota = config.model.quota
    if quota is not None and quota.storage and parse_size(quota.storage) is None:
        yield _error("quota.storage", quota.storage, "a size", "Write for example 100G or 512M.")
    for attribute, key, remedy in _QUERY_LIMITS:
        limit = getattr(config.model.query, attribute, None)
        if limit is not None and limit < 1:
            remedy = f"{remedy}, or leave it out: then the broker's own limit holds."
            yield _error(f"query.{key}", str(int(limit)), "a limit", remedy)


def _retention(config: TableConfig) -> Iterator[InvalidInput]:
    value, unit = config.segments.retention_time_value, config.segments.retention_time_unit
    key, units = "segmentsConfig.retentionTime", ", ".join(UNIT_MS)
    if value and not value.strip().lstrip("-").isdecimal():
        yield _error(f"{key}Value", value, "a number", "Write a whole number, and its unit in retentionTimeUnit.")
    elif unit and unit.upper() not in UNIT_MS:
        yield _error(f"{key}Unit", unit, "a unit of time", f"Use one of {units}.")
    elif value and int(value) > 0 and not unit:
        yield InvalidInput(
            f"'{key}Value' is {shown(value)} and has no unit.", remedy=f"Set retentionTimeUnit to one of {units}.",
            field=f"{key}Unit",
        )  # fmt: skip


def _error(field: str, value: str, what: str, remedy: str) -> InvalidInput:
    return InvalidInput(f"'{field}' is '{shown(value)}', which is not {what}.", remedy=remedy, field=field)
