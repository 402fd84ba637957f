"""Next times against a slow model that tries every minute, and across changes of the clock."""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from segments.domain.schedules.cron_times import next_times, time_zone
from segments.domain.schedules.quartz import parse_cron

Fits = Callable[[datetime], bool]


@dataclass(frozen=True)
class Piece:
    """A field's text, and the model of it: does a time on the clock fit?"""

    text: str
    fits: Fits


def _numbers(low: int, high: int, of: Callable[[datetime], int]) -> st.SearchStrategy[Piece]:
    number, count = st.integers(low, high), high - low + 1

    def wrapped(start: int, end: int) -> Fits:
        return lambda t: (start <= of(t) <= end) if start <= end else (of(t) >= start or of(t) <= end)

    def stepped(start: int, step: int) -> Fits:
        return lambda t: of(t) >= start and (of(t) - start) % step == 0

    return st.one_of(
        st.just(Piece("*", lambda t: True)),
        number.map(lambda n: Piece(str(n), lambda t: of(t) == n)),
        st.lists(number, min_size=2, max_size=4).map(
            lambda found: Piece(",".join(map(str, found)), lambda t: of(t) in found)
        ),
        st.tuples(number, number).map(lambda p: Piece(f"{p[0]}-{p[1]}", wrapped(*p))),
        st.tuples(number, st.integers(1, count - 1)).map(lambda p: Piece(f"{p[0]}/{p[1]}", stepped(*p))),
        st.integers(1, count - 1).map(lambda step: Piece(f"*/{step}", stepped(low, step))),
    )


def _weekday(t: datetime) -> int:
    return t.isoweekday() % 7 + 1


def _last(t: datetime) -> int:
    return calendar.monthrange(t.year, t.month)[1]


def _is_near(t: datetime, day: int) -> bool:
    """Of the working days of its month none is nearer to that day."""
    if not 1 <= day <= _last(t) or t.isoweekday() > 5:
        return False
    working = [d for d in range(1, _last(t) + 1) if t.replace(day=d).isoweekday() <= 5]
    return t.day == min(working, key=lambda d: abs(d - day))


_DAY_OF_MONTH = st.one_of(
    _numbers(1, 31, lambda t: t.day),
    st.just(Piece("L", lambda t: t.day == _last(t))),
    st.integers(0, 30).map(lambda n: Piece(f"L-{n}", lambda t: t.day == _last(t) - n)),
    st.integers(1, 31).map(lambda n: Piece(f"{n}W", lambda t: _is_near(t, n))),
    st.integers(0, 30).map(lambda n: Piece(f"L-{n}W", lambda t: _is_near(t, _last(t) - n))),
).map(lambda p: (p, "?"))
_DAY_OF_WEEK = st.one_of(
    _numbers(1, 7, _weekday),
    st.integers(1, 7).map(lambda n: Piece(f"{n}L", lambda t: _weekday(t) == n and t.day > _last(t) - 7)),
    st.tuples(st.integers(1, 7), st.integers(1, 5)).map(
        lambda p: Piece(f"{p[0]}#{p[1]}", lambda t: _weekday(t) == p[0] and (t.day - 1) // 7 + 1 == p[1])
    ),
).map(lambda p: (p, "day of week"))

ZONES: Final = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Santiago"]
#: Shortly before clocks change in one of them, and at an end of a year with a leap day.
STARTS: Final = [
    datetime(2026, 3, 28, 20, tzinfo=UTC),
    datetime(2026, 10, 24, 20, tzinfo=UTC),
    datetime(2026, 3, 8, 1, tzinfo=UTC),
    datetime(2026, 11, 1, 1, tzinfo=UTC),
    datetime(2026, 4, 4, 10, tzinfo=UTC),
    datetime(2026, 9, 5, 20, tzinfo=UTC),
    datetime(2028, 2, 26, 0, tzinfo=UTC),
    datetime(2026, 12, 30, 12, tzinfo=UTC),
]
_WINDOW: Final = timedelta(days=6)


def _model(fits: list[Fits], after: datetime, zone: str) -> list[datetime]:
    """Every minute of the window that fits; of a time that comes twice the second one."""
    found, moment = [], after.replace(second=0, microsecond=0)
    while (moment := moment + timedelta(minutes=1)) <= after + _WINDOW:
        local = moment.astimezone(time_zone(zone))
        is_first_of_two = local.fold == 0 and local.utcoffset() != local.replace(fold=1).utcoffset()
        if not is_first_of_two and all(fit(local) for fit in fits):
            found.append(moment)
    return found


@settings(max_examples=60)
@given(
    minute=_numbers(0, 59, lambda t: t.minute),
    hour=_numbers(0, 23, lambda t: t.hour),
    days=st.one_of(_DAY_OF_MONTH, _DAY_OF_WEEK),
    month=_numbers(1, 12, lambda t: t.month),
    zone=st.sampled_from(ZONES),
    start=st.sampled_from(STARTS),
    later=st.integers(0, 36 * 60),
)
@example(
    minute=Piece("30", lambda t: t.minute == 30),
    hour=Piece("2", lambda t: t.hour == 2),
    days=(Piece("*", lambda t: True), "?"),
    month=Piece("*", lambda t: True),
    zone="Europe/Berlin",
    start=STARTS[0],
    later=0,
)
def test_next_times_are_those_of_a_model_that_tries_every_minute(
    minute: Piece, hour: Piece, days: tuple[Piece, str], month: Piece, zone: str, start: datetime, later: int
) -> None:
    day, kind = days
    both = f"{day.text} {month.text} ?" if kind == "?" else f"? {month.text} {day.text}"
    after = start + timedelta(minutes=later)
    found = next_times(parse_cron(f"0 {minute.text} {hour.text} {both}"), after, time_zone(zone), 10_000)
    expected = _model([minute.fits, hour.fits, day.fits, month.fits], after, zone)
    assert [t for t in found if t <= after + _WINDOW][: len(expected) + 1] == expected


def _local(text: str, after: str, zone: str, count: int) -> list[str]:
    """As that zone's clock shows them, with the difference to UTC."""
    moment = datetime.fromisoformat(after)
    found = next_times(parse_cron(text), moment, time_zone(zone), count)
    return [f"{t.astimezone(time_zone(zone)):%m-%d %H:%M %z}" for t in found]


def test_a_time_that_the_clock_leaps_over_is_left_out_that_day() -> None:
    found = _local("0 30 2 * * ?", "2026-03-28T00:00:00+00:00", "Europe/Berlin", 3)
    assert found == ["03-28 02:30 +0100", "03-30 02:30 +0200", "03-31 02:30 +0200"]


def test_a_time_that_comes_twice_fires_once_and_in_standard_time() -> None:
    found = _local("0 30 2 * * ?", "2026-10-24T12:00:00+00:00", "Europe/Berlin", 2)
    assert found == ["10-25 02:30 +0100", "10-26 02:30 +0100"]


@pytest.mark.parametrize("after", ["2026-11-01T05:00:00+00:00", "2026-11-01T05:10:00+00:00"])
def test_the_first_of_two_equal_hours_has_no_runs(after: str) -> None:
    found = _local("0 */30 * * * ?", after, "America/New_York", 3)
    assert found == ["11-01 01:00 -0500", "11-01 01:30 -0500", "11-01 02:00 -0500"]


def test_a_midnight_that_does_not_exist_is_left_out() -> None:
    found = _local("0 0 0 * * ?", "2026-09-05T12:00:00+00:00", "America/Santiago", 2)
    assert found == ["09-07 00:00 -0300", "09-08 00:00 -0300"]


@pytest.mark.parametrize(
    ("zone", "text"), [(z, t) for z in ZONES for t in ("* * * * * ?", "0 */7 * * * ?", "0 0 3 L * ?")]
)
def test_times_ascend_and_begin_after_the_moment(zone: str, text: str) -> None:
    for after in STARTS:
        found = next_times(parse_cron(text), after, time_zone(zone), 200)
        assert all(one < other for one, other in zip([after, *found], found, strict=False))
