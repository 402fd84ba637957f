"""When a cron expression fires next, in a time zone.

Daylight saving as in Quartz, which sets the fields of a Java calendar: a time that the clock leaps over does not come,
so a run that is due then is left out that day; of a time that comes twice the second one, in standard time, is meant,
so a run that is due then starts once, and the first of the two hours has none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final
from zoneinfo import ZoneInfo

from segments.domain.schedules.quartz import CronExpression
from segments.errors import InvalidInput
from segments.names import shown

#: Years that are searched for a next run, as in Quartz: the 30th of February never comes.
_YEARS_AHEAD: Final = 100


def time_zone(name: str) -> ZoneInfo:
    """The zone of that name, ``Europe/Berlin`` or ``UTC``. InvalidInput when there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:  # ZoneInfoNotFoundError is a KeyError
        raise InvalidInput(
            f"There is no time zone '{shown(name)}'.", remedy="Use a name such as UTC or Europe/Berlin."
        ) from error


def next_times(expression: CronExpression, after: datetime, zone: ZoneInfo, count: int = 1) -> list[datetime]:
    """The next ``count`` moments strictly after ``after`` (aware), ascending, in UTC; fewer when it fires no more."""
    return list(islice(_times(expression, after, zone), count))


def _times(expression: CronExpression, after: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    after = after.astimezone(UTC)
    for wall in _walls(expression, _first_wall(after, zone)):
        moment = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
        if moment > after and moment.astimezone(zone).replace(tzinfo=None, fold=0) == wall:
            yield moment


def _first_wall(after: datetime, zone: ZoneInfo) -> datetime:
    """The earliest time on the clock of that zone that may come after this moment. In the first of two equal hours the
    second one is ahead as a whole.
    """
    local = after.astimezone(zone)
    twice = (local.replace(fold=0).utcoffset() or timedelta()) - (local.replace(fold=1).utcoffset() or timedelta())
    back = twice if local.fold == 0 and twice > timedelta() else timedelta()
    return local.replace(tzinfo=None, microsecond=0, fold=0) - back


def _walls(expression: CronExpression, start: datetime) -> Iterator[datetime]:
    """Times on the clock that fit, from ``start`` on, whatever zone it is in."""
    for year in expression.years:
        if not start.year <= year <= start.year + _YEARS_AHEAD:
            continue
        for month in expression.months:
            if (year, month) >= (start.year, start.month):
                for day in expression.days.days(year, month):
                    yield from _walls_of_day(expression, datetime(year, month, day), start)


def _walls_of_day(expression: CronExpression, day: datetime, start: datetime) -> Iterator[datetime]:
    if day.date() < start.date():
        return
    is_first = day.date() == start.date()
    hours = expression.hours[bisect_left(expression.hours, start.hour) if is_first else 0 :]
    for hour in hours:
        for minute in expression.minutes:
            if is_first and (hour, minute) < (start.hour, start.minute):
                continue
            for second in expression.seconds:
                wall = day.replace(hour=hour, minute=minute, second=second)
                if wall >= start:
                    yield wall
