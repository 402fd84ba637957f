"""Which part of a table a run replaces: a time range, or the segments of a set of files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from segments.domain.formats.whole_number import whole_number
from segments.domain.ingestion.task_keys import Problem, wrong
from segments.domain.push.path_pattern import parse_pattern
from segments.errors import InvalidInput
from segments.names import shown

_TIMES: Final = ("replaceFrom", "replaceUntil")


@dataclass(frozen=True)
class Selector:
    """Segments with rows in [``from_ms``, ``until_ms``) by the table's time column, or segments of files that match
    ``files`` (a pattern as of ``includeFileNamePattern``). Exactly one of the two kinds is given. ``splits``: of
    segments with rows on both sides of an edge, those outside of the range are kept; else such a segment is refused.
    """

    from_ms: int | None = None
    until_ms: int | None = None
    files: str | None = None
    splits: bool = False


@dataclass(frozen=True)
class KeptRows:
    """Rows of ``segment`` outside of the replaced range: built again as segment ``name`` (empty: none stays), staged as
    part ``ordinal``.
    """

    segment: str
    name: str
    ordinal: int
    rows: int


def read_selector(given: Mapping[str, str]) -> Selector | None:
    """The selector of a task's keys; None: none is set. Only for keys without ``selector_problems``."""
    if given.get("replaceFiles"):
        return Selector(files=given["replaceFiles"])
    if any(key in given for key in _TIMES):
        splits = given.get("replaceCrossing", "").strip().lower() == "split"
        return Selector(_time_ms(given["replaceFrom"]), _time_ms(given["replaceUntil"]), splits=splits)
    return None


def selector_problems(given: Mapping[str, str]) -> list[Problem]:
    """What is wrong with the keys that name the replaced part."""
    found = []
    times = {key: given[key] for key in _TIMES if key in given}
    for key, text in times.items():
        if _time_ms(text) is None:
            what = f"'{key}' must be a date, a time or epoch milliseconds, not '{shown(text)}'"
            found.append(wrong(key, what, "Write it as 2026-01-31, 2026-01-31T12:00:00Z or 1769860800000."))
    if len(times) == 1:
        other = next(key for key in _TIMES if key not in times)
        found.append(wrong(other, f"'{other}' is missing next to '{next(iter(times))}'", "Give both ends."))
    elif (
        len(times) == 2
        and not found
        and (_time_ms(times["replaceFrom"]) or 0) >= (_time_ms(times["replaceUntil"]) or 0)
    ):
        found.append(wrong("replaceUntil", "'replaceUntil' is not later than 'replaceFrom'", "Exchange them."))
    crossing = given.get("replaceCrossing", "refuse").strip().lower()
    if crossing not in ("refuse", "split"):
        what = f"'replaceCrossing' must be refuse or split, not '{shown(crossing)}'"
        found.append(wrong("replaceCrossing", what, "Write refuse or split."))
    elif "replaceCrossing" in given and not times:
        what = "'replaceCrossing' has no effect without replaceFrom and replaceUntil"
        found.append(Problem("replaceCrossing", what, "Remove it, or name the time range."))
    if given.get("replaceFiles"):
        if times:
            what = "'replaceFiles' and a time range exclude one another"
            found.append(wrong("replaceFiles", what, "Give one of them."))
        try:
            parse_pattern(given["replaceFiles"])
        except InvalidInput as error:
            found.append(wrong("replaceFiles", error.message.rstrip("."), error.remedy))
    return found


def _time_ms(text: str) -> int | None:
    """Epoch milliseconds of a date, a time (UTC unless it says otherwise) or a number of milliseconds."""
    number = whole_number(text.strip())
    if number is not None:
        return number
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
