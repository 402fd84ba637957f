"""On which days a cron expression fires: days of the month (``15``, ``L``, ``L-3``, ``15W``, ``LW``) or of the week
(``MON-FRI``, ``6L``, ``6#3``).
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from segments.domain.formats.whole_number import whole_number
from segments.domain.schedules.cron_fields import Part, values

_SATURDAY, _SUNDAY = 5, 6
#: Days before the last one that ``L-n`` may name.
_MOST_BEFORE_LAST = 30


class DayRule(Protocol):
    """Which days of a month."""

    def days(self, year: int, month: int) -> list[int]:
        """The days of this month, ascending; none when no day fits."""


@dataclass(frozen=True)
class DaysOfMonth:
    """``plain`` counts from 1, ``before_last`` back from the last day (0); ``near`` and ``near_last`` are the same with
    ``W``: the working day nearest to it in the same month. A month that does not have the day has no run.
    """

    plain: frozenset[int] = frozenset()
    before_last: frozenset[int] = frozenset()
    near: frozenset[int] = frozenset()
    near_last: frozenset[int] = frozenset()

    def days(self, year: int, month: int) -> list[int]:
        last = calendar.monthrange(year, month)[1]
        exact = {*self.plain, *(last - n for n in self.before_last)}
        moved = {*self.near, *(last - n for n in self.near_last)}
        found = {d for d in exact if 1 <= d <= last}
        return sorted(found | {_working_day(year, month, d, last) for d in moved if 1 <= d <= last})


@dataclass(frozen=True)
class DaysOfWeek:
    """``on``: 1 is Sunday. ``nth``: only the first to fifth of the month, 0 every one, -1 the last."""

    on: frozenset[int]
    nth: int = 0

    def days(self, year: int, month: int) -> list[int]:
        first, last = calendar.monthrange(year, month)
        found = [d for d in range(1, last + 1) if (first + d) % 7 + 1 in self.on]
        if self.nth == 0:
            return found
        index = self.nth - 1 if self.nth > 0 else len(found) - 1
        return found[index : index + 1]


def days_of_month(part: Part) -> DaysOfMonth:
    """The rule of the fourth field. InvalidInput with the place."""
    found: dict[str, frozenset[int]] = {}
    for entry in part.pieces(","):
        kind, days = _day_of_month(entry)
        found[kind] = found.get(kind, frozenset()) | days
    return DaysOfMonth(**found)


def days_of_week(part: Part) -> DaysOfWeek:
    """The rule of the sixth field; ``L`` alone is Saturday, as in Quartz. InvalidInput with the place."""
    entries = list(part.pieces(","))
    if part.text == "L":
        return DaysOfWeek(frozenset({7}))
    for entry in entries:
        for mark in "L#":
            if mark in entry.text and len(entries) > 1:
                raise entry.wrong(f"'{mark}' cannot stand in a list of days")
    if "#" in part.text:
        return _nth(part)
    if part.text.endswith("L"):
        return DaysOfWeek(_one_day(part, part.text[:-1]), nth=-1)
    return DaysOfWeek(frozenset().union(*(values(entry) for entry in entries)))


def _day_of_month(entry: Part) -> tuple[str, frozenset[int]]:
    text = entry.text
    is_near = text.endswith("W")
    core = text[:-1] if is_near else text
    if core.startswith("L"):
        before = 0 if core == "L" else whole_number(core[2:]) if core[1:2] == "-" else None
        if before is None or before > _MOST_BEFORE_LAST:
            raise entry.wrong(f"'L' is the last day, 'L-3' three days before it, at most 'L-{_MOST_BEFORE_LAST}'")
        return ("near_last" if is_near else "before_last"), frozenset({before})
    if not is_near:
        return "plain", values(entry)
    if whole_number(core) is None:
        raise entry.wrong("'W' follows one day or 'L': 15W, LW", len(core))
    return "near", values(Part(core, entry.at, entry.field, entry.expression))


def _nth(part: Part) -> DaysOfWeek:
    day, _, number = part.text.partition("#")
    nth = whole_number(number)
    if nth is None or not 1 <= nth <= 5:
        raise part.wrong("a number from 1 to 5 must follow '#'", min(len(day) + 1, len(part.text) - 1))
    return DaysOfWeek(_one_day(part, day), nth)


def _one_day(part: Part, text: str) -> frozenset[int]:
    day = values(Part(text, part.at, part.field, part.expression))
    if len(day) != 1 or not text.isalnum():
        raise part.wrong("one day of the week is expected here, as in 6L or FRI#3")
    return day


def _working_day(year: int, month: int, day: int, last: int) -> int:
    """The day from Monday to Friday nearest to this one, in the same month."""
    weekday = date(year, month, day).weekday()
    if weekday == _SATURDAY:
        return day - 1 if day > 1 else day + 2
    if weekday == _SUNDAY:
        return day + 1 if day < last else day - 2
    return day
