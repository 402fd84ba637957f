"""Quartz's cron: known answers of Quartz itself, refusals with their place, plain words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import pytest

from segments.domain.schedules.cron_times import next_times, time_zone
from segments.domain.schedules.cron_words import plain_words
from segments.domain.schedules.quartz import LONGEST, parse_cron
from segments.errors import InvalidInput


def fires(text: str, moment: str, zone: str = "UTC") -> bool:
    """Does it fire in exactly this second of that zone's clock?"""
    wanted = datetime.fromisoformat(moment).replace(tzinfo=time_zone(zone), fold=1).astimezone(UTC)
    before = datetime.fromtimestamp(wanted.timestamp() - 1, UTC)
    return next_times(parse_cron(text), before, time_zone(zone)) == [wanted]


def dates(text: str, after: str, count: int) -> list[str]:
    moment = datetime.fromisoformat(after).replace(tzinfo=UTC)
    return [f"{t:%Y-%m-%d %H:%M:%S}" for t in next_times(parse_cron(text), moment, time_zone("UTC"), count)]


#: What Quartz's own tests say: (expression, moments that fit, moments that do not).
KNOWN: Final = [
    ("0 15 10 * * ? 2005", ["2005-06-01 10:15", "2005-06-30 10:15"], ["2006-06-30 10:15", "2005-06-01 10:16"]),
    ("0 15 10 12 * ? 2005", ["2005-12-12 10:15"], ["2005-12-11 10:15", "2005-12-13 10:15"]),
    ("0 15 10 L * ? 2005", ["2005-12-31 10:15", "2005-09-30 10:15"], ["2005-12-30 10:15", "2005-09-29 10:15"]),
    ("0 15 10 L 2 ? 2004", ["2004-02-29 10:15"], ["2004-02-28 10:15"]),
    ("0 15 10 L-2 * ? 2005", ["2005-12-29 10:15"], ["2005-12-28 10:15", "2005-12-30 10:15", "2005-12-31 10:15"]),
    ("0 15 10 L-3 2 ? 2000", ["2000-02-26 10:15"], ["2000-02-25 10:15", "2000-02-27 10:15"]),
    ("0 15 10 L-5W * ? 2010", ["2010-10-26 10:15", "2010-09-24 10:15"], ["2010-10-25 10:15", "2010-09-25 10:15"]),
    ("0 15 10 L-1W * ? 2010", ["2010-10-29 10:15"], ["2010-10-30 10:15"]),
    ("0 15 10 1,L * ? 2010", ["2010-10-01 10:15", "2010-10-31 10:15", "2010-02-28 10:15"], ["2010-10-30 10:15"]),
    ("0 15 10 L-1W,L-1 * ? 2010", ["2010-10-29 10:15", "2010-10-30 10:15", "2010-02-26 10:15", "2010-02-27 10:15"], []),
    ("0 15 10 2W,16 * ? 2010", ["2010-10-01 10:15", "2010-10-16 10:15", "2010-11-02 10:15"], ["2010-10-02 10:15"]),
    ("0 43 9 ? * 5L", ["2026-11-26 09:43"], ["2026-11-19 09:43"]),
    ("19 15 10 4 Apr ? ", ["2026-04-04 10:15:19"], ["2026-04-04 10:15:18", "2026-05-04 10:15:19"]),
]


@pytest.mark.parametrize(("text", "good", "bad"), KNOWN)
def test_an_expression_fires_when_quartz_says(text: str, good: list[str], bad: list[str]) -> None:
    assert [m for m in good if not fires(text, m)] == []
    assert [m for m in bad if fires(text, m)] == []


def test_the_first_working_day_of_each_month() -> None:
    assert dates("0 0 0 1W * ?", "2025-11-18 10:15:00", 13) == [
        f"{day} 00:00:00"
        for day in (
            "2025-12-01", "2026-01-01", "2026-02-02", "2026-03-02", "2026-04-01", "2026-05-01", "2026-06-01",
            "2026-07-01", "2026-08-03", "2026-09-01", "2026-10-01", "2026-11-02", "2026-12-01",
        )
    ]  # fmt: skip


def test_the_last_second_of_each_month() -> None:
    assert dates("59 59 23 L * ?", "2025-11-18 10:15:00", 4) == [
        "2025-11-30 23:59:59", "2025-12-31 23:59:59", "2026-01-31 23:59:59", "2026-02-28 23:59:59",
    ]  # fmt: skip


def test_the_second_itself_is_not_after_it() -> None:
    assert dates("0 */30 * * * ?", "2026-11-23 10:30:00", 2) == ["2026-11-23 11:00:00", "2026-11-23 11:30:00"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 0 22-2 * * ?", ["22:00", "23:00", "00:00", "01:00", "02:00", "22:00"]),
        ("0 0 22-4/3 * * ?", ["22:00", "01:00", "04:00", "22:00"]),
        ("0 50-10/10 12 * * ?", ["12:00", "12:10", "12:50", "12:00"]),
        ("0 5/20 3,4 * * ?", ["03:05", "03:25", "03:45", "04:05", "04:25", "04:45", "03:05"]),
        ("0 /30 8 * * ?", ["08:00", "08:30", "08:00"]),
    ],
)
def test_lists_steps_and_ranges_over_the_end(text: str, expected: list[str]) -> None:
    start = "2026-11-23 11:00:00" if expected[0] > "09" else "2026-11-23 00:30:00"
    assert [d[11:16] for d in dates(text, start, len(expected))] == expected


def test_months_and_days_may_go_over_the_end_of_the_year_and_the_week() -> None:
    assert dates("0 0 6 1 NOV-FEB ?", "2026-02-02 00:00:00", 4) == [
        "2026-11-01 06:00:00", "2026-12-01 06:00:00", "2027-01-01 06:00:00", "2027-02-01 06:00:00",
    ]  # fmt: skip
    week = [d[:10] for d in dates("0 0 6 ? * FRI-MON", "2026-11-23 07:00:00", 4)]
    assert week == ["2026-11-27", "2026-11-28", "2026-11-29", "2026-11-30"]


def test_what_never_comes_has_no_next_time() -> None:
    for text in ("0 0 0 30 2 ?", "0 0 0 L-30 2 ?", "0 0 0 * * ? 1999"):
        assert dates(text, "2026-11-23 00:00:00", 1) == []
    assert dates("0 0 0 29 2 ?", "2096-03-01 00:00:00", 1) == ["2104-02-29 00:00:00"]


#: (expression, the character that is wrong, a word of the reason)
REFUSED: Final = [
    ("", 1, "missing"),
    ("*/5 * * * *", 12, "begins with the seconds"),
    ("0 15 10 * * ? 2005 *", 20, "more than seven"),
    ("* * * * Foo ? ", 9, "JAN to DEC"),
    ("* * * * Jan-Foo ? ", 13, "JAN to DEC"),
    ("0 0 * * * *", 11, "must be '?'"),
    ("0 0 * 4 * *", 11, "must be '?'"),
    ("0 0 * ? * ?", 11, "one of the two"),
    ("0 43 9 ? * SAT,SUN,L", 20, "list"),
    ("0 43 9 ? * 6,7,L", 16, "list"),
    ("0 43 9 ? * 2#1,5", 12, "list"),
    ("0 0 0 ? * 6#6", 13, "1 to 5"),
    ("0/5 * * 32W 1 ?", 9, "1 to 31"),
    ("0/5 * * 3-5W 1 ?", 12, "one day"),
    ("0 0 0 L-31 * ?", 7, "at most"),
    ("/120 0 8-18 ? * 2-6", 2, "1 to 59"),
    ("0/120 0 8-18 ? * 2-6", 3, "1 to 59"),
    ("/ 0 8-18 ? * 2-6", 1, "follow '/'"),
    ("0 0/ 8-18 ? * 2-6", 4, "follow '/'"),
    ("0 0 /24 ? * 2-6", 6, "1 to 23"),
    ("0 0 0 /120 * ?", 8, "1 to 31"),
    ("0 0 0 ? /13 2-6", 10, "1 to 12"),
    ("0 0 0 ? * /120", 12, "1 to 7"),
    ("0 0 0 0/5 * ?", 7, "1 to 31"),
    ("0 */0 * * * ?", 5, "1 to 59"),
    ("0 0 24 * * ?", 5, "0 to 23"),
    ("0 0 0 ? * MON/2", 14, "no step after a name"),
    ("0 0 0 ? * 2-FRI", 13, "two numbers or two names"),
    ("0 0 0 * * ? 2030-2020", 13, "after"),
    ("0 0,, * * * ?", 5, "nothing stands"),
    ("0 ? * * * ?", 3, "day of month or the day of week"),
    ("Ralf 30 * * * ?", 1, "0 to 59"),
    ("L 30 * * * ?", 1, "0 to 59"),
    ("0 30\n* * * * ?", 3, "0 to 59"),
    ("0 \u0661 * * * ?", 3, "0 to 59"),
]


@pytest.mark.parametrize(("text", "position", "word"), REFUSED)
def test_a_wrong_expression_is_refused_with_place_reason_and_an_example(text: str, position: int, word: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_cron(text)
    assert refused.value.data["position"] == position
    assert word in refused.value.message
    assert "0 */30 * * * ?" in refused.value.remedy


def test_a_long_expression_is_refused_before_it_is_read() -> None:
    with pytest.raises(InvalidInput, match=f"{LONGEST} at most"):
        parse_cron("0 " * LONGEST)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 */30 * * * ?", "every 30 minutes"),
        ("0 /5 * * * ?", "every 5 minutes"),
        ("0 0 0/4 * * ?", "every 4 hours"),
        ("0 0 2 ? * MON-FRI", "at 02:00, Monday through Friday"),
        ("0 0 12 LW * ?", "at 12:00, on the last weekday of the month"),
        ("0 15 10 ? * L", "at 10:15, only on Saturday"),
        ("0 15 10 ? * 6#3", "at 10:15, on the third Friday of the month"),
    ],
)
def test_plain_words(text: str, words: str) -> None:
    assert plain_words(parse_cron(text)) == words


@pytest.mark.parametrize("text", [known[0] for known in KNOWN])
def test_every_expression_has_words_of_some_kind(text: str) -> None:
    assert plain_words(parse_cron(text)).strip()


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd", "/etc/passwd", "Europe", "a\0b", "x" * 5000])
def test_a_zone_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="no time zone"):
        time_zone(name)
