"""Which part of a table a run replaces: a time range, partitions, both together, or the segments of a set of files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from segments.domain.formats.moment import iso_moment
from segments.domain.formats.whole_number import whole_number
from segments.domain.ingestion.task_keys import Problem, wrong
from segments.domain.push.path_pattern import parse_pattern
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.names import shown

_TIMES: Final = ("replaceFrom", "replaceUntil")
_PARTITIONS: Final = "replacePartitions"
#: Each of these begins a selector.
SELECTING: Final = (*_TIMES, "replaceFiles", _PARTITIONS)


@dataclass(frozen=True)
class Partitions:
    """Partitions ``ids`` of a column, of ``count`` by Pinot's partition function of that name."""

    column: str
    function: str
    count: int
    ids: frozenset[int]


@dataclass(frozen=True)
class Selector:
    """Rows in [``from_ms``, ``until_ms``) by the table's time column, or of ``partitions``, or both at once; else the
    segments of files that match ``files`` (a pattern as of ``includeFileNamePattern``). ``splits``: of segments with
    rows on both sides of an edge, those outside of the part are kept; else such a segment is refused.
    """

    from_ms: int | None = None
    until_ms: int | None = None
    files: str | None = None
    splits: bool = False
    partitions: Partitions | None = None

    @property
    def times(self) -> tuple[int, int] | None:
        """[from, until) in epoch milliseconds; None: rows of all times."""
        return None if self.from_ms is None or self.until_ms is None else (self.from_ms, self.until_ms)

    @property
    def has_edges(self) -> bool:
        """Are rows chosen by their values, so that a segment can have some inside and some outside?"""
        return self.times is not None or self.partitions is not None

    @property
    def what(self) -> str:
        """The part in words, after "the replaced"."""
        chosen = ("time range" if self.times else "", "partitions" if self.partitions else "")
        return " and ".join(filter(None, chosen)) or "files"

    @property
    def words(self) -> str:
        """The part for people, after "in place of"; times in UTC."""
        if self.files is not None:
            return f"the rows of files that match {self.files}"
        times = f" from {_text(self.times[0])} until {_text(self.times[1])}" if self.times else ""
        chosen = self.partitions
        ids = ", ".join(map(str, sorted(chosen.ids))) if chosen else ""
        partitions = f" of partitions {ids} of column '{chosen.column}'" if chosen else ""
        edge = "split" if self.splits else "refused"
        return f"the rows{times}{partitions} (segments at the edge are {edge})"

    @property
    def keys(self) -> str:
        """The keys that name its edges, in words."""
        chosen = (*(_TIMES if self.times else ()), *((_PARTITIONS,) if self.partitions else ()))
        return ", ".join(chosen[:-1]) + (" and " if len(chosen) > 1 else "") + chosen[-1] if chosen else "replaceFiles"


@dataclass(frozen=True)
class KeptRows:
    """Rows of ``segment`` outside of the replaced part: built again as segment ``name`` (empty: none stays), staged as
    part ``ordinal``.
    """

    segment: str
    name: str
    ordinal: int
    rows: int


def read_selector(given: Mapping[str, str], config: TableConfig) -> Selector | None:
    """The selector of a task's keys; None: none is set. Only for keys without ``selector_problems`` and
    ``partition_problems``.
    """
    if given.get("replaceFiles"):
        return Selector(files=given["replaceFiles"])
    from_ms, until_ms = (_time_ms(given[key]) if key in given else None for key in _TIMES)
    partitions = _partitions(given, config)
    if from_ms is None and partitions is None:
        return None
    splits = given.get("replaceCrossing", "").strip().lower() == "split"
    return Selector(from_ms, until_ms, splits=splits, partitions=partitions)


def selector_problems(given: Mapping[str, str]) -> list[Problem]:
    """What is wrong with the keys that name the replaced part, whatever the table is like."""
    found = [*_time_problems(given), *_crossing_problems(given)]
    if _PARTITIONS in given and _ids(given[_PARTITIONS]) is None:
        what = f"'{_PARTITIONS}' must be a column and partition numbers, not '{shown(given[_PARTITIONS])}'"
        found.append(wrong(_PARTITIONS, what, "Write it as customer=0,3."))
    if given.get("replaceFiles"):
        if other := next((key for key in (*_TIMES, _PARTITIONS) if key in given), None):
            found.append(
                wrong("replaceFiles", f"'replaceFiles' and '{other}' exclude one another", "Give one of them.")
            )
        try:
            parse_pattern(given["replaceFiles"])
        except InvalidInput as error:
            found.append(wrong("replaceFiles", error.message.rstrip("."), error.remedy))
    return found


def partition_problems(given: Mapping[str, str], config: TableConfig) -> list[Problem]:
    """Partitions that the table does not have. Only for keys without ``selector_problems``."""
    if _PARTITIONS not in given or _ids(given[_PARTITIONS]) is None or _partitions(given, config) is not None:
        return []
    column, numbers = _ids(given[_PARTITIONS]) or ("", frozenset())
    count = (_settings(config).get(column) or (None, 0))[1]
    if not count:
        known = ", ".join(_settings(config)) or "none"
        what = f"'{_PARTITIONS}' names column '{shown(column)}', which is not partitioned (partitioned: {known})"
        return [wrong(_PARTITIONS, what, "Name a column of tableIndexConfig.segmentPartitionConfig.")]
    over = min(n for n in numbers if n >= count)
    what = f"'{_PARTITIONS}' names partition {over}, and column '{column}' has partitions 0 to {count - 1}"
    return [wrong(_PARTITIONS, what, "Name partitions that there are.")]


def _time_problems(given: Mapping[str, str]) -> list[Problem]:
    found = []
    times = {key: given[key] for key in _TIMES if key in given}
    for key, text in times.items():
        if _time_ms(text) is None:
            what = f"'{key}' must be a date, a time or epoch milliseconds, not '{shown(text)}'"
            found.append(wrong(key, what, "Write it as 2026-01-31, 2026-01-31T12:00:00Z or 1769860800000."))
    if len(times) == 1:
        other = next(key for key in _TIMES if key not in times)
        found.append(wrong(other, f"'{other}' is missing next to '{next(iter(times))}'", "Give both ends."))
    elif times and not found and (_time_ms(times["replaceFrom"]) or 0) >= (_time_ms(times["replaceUntil"]) or 0):
        found.append(wrong("replaceUntil", "'replaceUntil' is not later than 'replaceFrom'", "Exchange them."))
    return found


def _crossing_problems(given: Mapping[str, str]) -> list[Problem]:
    crossing = given.get("replaceCrossing", "refuse").strip().lower()
    if crossing not in ("refuse", "split"):
        what = f"'replaceCrossing' must be refuse or split, not '{shown(crossing)}'"
        return [wrong("replaceCrossing", what, "Write refuse or split.")]
    if "replaceCrossing" in given and not any(key in given for key in (*_TIMES, _PARTITIONS)):
        what = "'replaceCrossing' has no effect without replaceFrom and replaceUntil, or replacePartitions"
        return [Problem("replaceCrossing", what, "Remove it, or name the time range or the partitions.")]
    return []


def _partitions(given: Mapping[str, str], config: TableConfig) -> Partitions | None:
    """None: none are named, or the table does not have them."""
    column, numbers = _ids(given.get(_PARTITIONS, "")) or ("", frozenset())
    function, count = _settings(config).get(column, ("", 0))
    return Partitions(column, function, count, numbers) if numbers and all(n < count for n in numbers) else None


def _settings(config: TableConfig) -> dict[str, tuple[str, int]]:
    """Function and number of partitions by partitioned column."""
    return {
        name: (one.function_name, one.num_partitions)
        for name, one in config.index.partitioned.items()
        if one.function_name and one.num_partitions
    }


def _ids(text: str) -> tuple[str, frozenset[int]] | None:
    """``customer=0,3`` -> the column and its partitions; None for other text."""
    column, _, numbers = text.rpartition("=")
    found = [whole_number(n.strip()) for n in numbers.split(",")]
    if not column.strip() or any(n is None or n < 0 for n in found):
        return None
    return column.strip(), frozenset(n for n in found if n is not None)


def _text(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).isoformat().removesuffix("+00:00").replace("T00:00:00", "")
    except (ValueError, OverflowError, OSError):
        return str(ms)


def _time_ms(text: str) -> int | None:
    """Epoch milliseconds of a date, a time (UTC unless it says otherwise) or a number of milliseconds."""
    number = whole_number(text.strip())
    if number is not None:
        return number
    try:
        return round(iso_moment(text.strip()).timestamp() * 1000)
    except ValueError:
        return None
