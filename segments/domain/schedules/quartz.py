"""Cron expressions as Quartz, and so Pinot's ``schedule``, writes them: six fields or seven, seconds first."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from segments.domain.schedules.cron_days import DayRule, days_of_month, days_of_week
from segments.domain.schedules.cron_fields import (
    DAYS_OF_MONTH,
    DAYS_OF_WEEK,
    EXAMPLE,
    HOURS,
    MINUTES,
    MONTHS,
    SECONDS,
    YEARS,
    Part,
    values,
)
from segments.errors import InvalidInput
from segments.names import shown

#: Characters of an expression; all minutes and all seconds, each one named, take 340.
LONGEST: Final = 512
_FIELDS: Final = (SECONDS, MINUTES, HOURS, DAYS_OF_MONTH, MONTHS, DAYS_OF_WEEK, YEARS)
_WORD: Final = re.compile(r"[^ \t]+")


@dataclass(frozen=True)
class CronExpression:
    """An expression that was understood. Its numbers ascend; ``days`` says which days of a month."""

    text: str
    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: DayRule
    months: tuple[int, ...]
    years: tuple[int, ...]


def parse_cron(text: str) -> CronExpression:
    """Understand an expression. InvalidInput names the character (``position``, from 1), the field and the reason.

    As Quartz has it: names and letters in either case, ranges over the end of their field (``22-2``, ``NOV-FEB``),
    exactly one of the two day fields is ``?``. What Quartz reads over in silence (a step after a name, anything behind
    a complete value) is refused.
    """
    if len(text) > LONGEST:
        raise InvalidInput(
            f"Cron expression has {len(text)} characters, {LONGEST} at most.", remedy=EXAMPLE, position=LONGEST + 1
        )
    seconds, minutes, hours, days, months, weekdays, years = _fields(text)
    return CronExpression(
        text,
        _numbers(seconds),
        _numbers(minutes),
        _numbers(hours),
        _days(days, weekdays),
        _numbers(months),
        _numbers(years),
    )


def _fields(text: str) -> list[Part]:
    words = [(w.group().upper(), w.start()) for w in _WORD.finditer(text)]
    names = [f.name for f in _FIELDS]
    if len(words) < len(_FIELDS) - 1:
        missing = ", ".join(names[len(words) : -1])
        unix = " Cron of Unix has five fields; Quartz begins with the seconds." if len(words) == 5 else ""
        raise InvalidInput(
            f"Cron expression '{shown(text)}' ends at character {len(text) + 1}: {missing} missing.{unix}",
            remedy=EXAMPLE,
            position=len(text) + 1,
        )
    if len(words) > len(_FIELDS):
        place = words[len(_FIELDS)][1] + 1
        raise InvalidInput(
            f"Cron expression '{shown(text)}' has more than seven fields: something follows the year at character "
            f"{place}.",
            remedy=EXAMPLE,
            position=place,
        )
    words += [("*", len(text))] * (len(_FIELDS) - len(words))
    return [Part(word, at, field, text) for (word, at), field in zip(words, _FIELDS, strict=True)]


def _numbers(part: Part) -> tuple[int, ...]:
    if part.text == "?":
        raise part.wrong("'?' is for the day of month or the day of week")
    found: set[int] = set()
    for entry in part.pieces(","):
        found |= values(entry)
    return tuple(sorted(found))


def _days(of_month: Part, of_week: Part) -> DayRule:
    is_open, is_open_week = of_month.text == "?", of_week.text == "?"
    if is_open and is_open_week:
        raise of_week.wrong("'?' can stand for one of the two days only")
    if not (is_open or is_open_week):
        raise of_week.wrong("day of month and day of week are both given; one of them must be '?'")
    return days_of_week(of_week) if is_open else days_of_month(of_month)
