"""Every short text with a grammar of its own (periods, sizes, conditions, formats, expressions, names) is read in
linear time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from segments.datatypes.convert import parse_time
from segments.datatypes.jsontext import compact_json
from segments.domain.access.basic_auth import parse_basic
from segments.domain.access.token_scope import both, covers
from segments.domain.formats.user_regex import user_regex
from segments.domain.pinot.capabilities import parse_version
from segments.domain.pinot.forwarded_paths import check_path, needed
from segments.domain.pinot.minion_tasks import made_at, reported_time
from segments.domain.push.path_pattern import parse_pattern
from segments.domain.realtime.llc_name import parse_llc_name
from segments.domain.realtime.streams import stream_config
from segments.domain.realtime.streams.jaas import parse_jaas
from segments.domain.realtime.streams.offset_criteria import parse_criteria
from segments.domain.realtime.streams.stream_offset import parse_offset
from segments.domain.replacement.check_document import parse_bound, parse_checks, parse_expectation
from segments.domain.schedules.cron_words import plain_words
from segments.domain.schedules.quartz import parse_cron
from segments.domain.segments import admission
from segments.domain.segments.upload import parse_modifier
from segments.domain.tables.datetime_format import check_granularity, java_to_strptime, parse_format
from segments.domain.tables.table_config import parse_period
from segments.errors import InvalidInput
from segments.expressions.duckdb.compiled import parse_number, parse_timestamp
from segments.expressions.ingestion import columns_of, functions_of, parse_expression
from segments.names import check_raw_table_name, check_segment_name, split_table_name
from segments.secret_texts import mask_text
from tests.security.growth.timing import grows_at_most_linearly, repeated, seconds

Read = Callable[[str], Any]
_READERS: dict[str, Read] = {
    "period": parse_period,
    "bound": parse_bound,
    "expectation": parse_expectation,
    "checks": parse_checks,
    "format": parse_format,
    "granularity": check_granularity,
    "java pattern": java_to_strptime,
    "segment name": check_segment_name,
    "table name": check_raw_table_name,
    "typed name": split_table_name,
    "consuming name": parse_llc_name,
    "criteria": parse_criteria,
    "offset": lambda t: parse_offset("kafka", t),
    "redis offset": lambda t: parse_offset("redis", t),
    "quota": admission.parse_size,
    "size": stream_config.parse_size,
    "basic": parse_basic,
    "jaas": parse_jaas,
    "version": parse_version,
    "task": made_at,
    "told time": reported_time,
    "modifier": parse_modifier,
    "masked": mask_text,
    "time": parse_time,
    "timestamp": parse_timestamp,
    "number": parse_number,
    "json column": compact_json,
    "expression": lambda t: _walked(parse_expression(t)),
    "path": lambda t: needed("POST", check_path(t), set()),
    "grant": lambda t: covers(t[:200], "a" * 180 + "_OFFLINE"),
    "two grants": lambda t: both(t[:200], "*a*b*a*b*a"),
    "pattern": lambda t: user_regex(t[:1000]).matches("a" * 300),
    "cron": parse_cron,
    "cron list": lambda t: plain_words(parse_cron(f"0 0,{t[:400]} * * * ?")),
    "file name pattern": lambda t: parse_pattern(t).matches("/a" * 100),
}
_PARTS = [
    " ",
    "\t",
    "\n",
    "0",
    "1",
    "1d",
    "1d ",
    "1 ",
    "-",
    "+",
    ".",
    "1.",
    ".1",
    "e",
    "1e",
    "E1",
    "a",
    "a ",
    "_",
    "__",
    "__0",
    "/",
    "//",
    "../",
    "%",
    "%2",
    "%25",
    ":",
    "1:",
    "|",
    "'",
    "''",
    '"',
    '""',
    '\\"',
    "\\",
    "(",
    ")",
    "()",
    "((",
    "f(",
    "[",
    "]",
    "[a",
    "{",
    "}",
    "{a,",
    "*",
    "**",
    "?",
    "a*",
    "*a",
    ",",
    ";",
    "=",
    "a=",
    'a="',
    "a = ",
    "tz(",
    "not ",
    "- ",
    "a and ",
    "a or ",
    "1+",
    "a in (",
    "between ",
    "<",
    "&",
    "@",
    "é",
    "²",
    "\x00",
    "now-",
    "y",
    "yyyy-",
    "'y",
    "(a+)+",
    "(a|a)*",
    ".*",
    "(?:a",
    "password",
    "://",
    "http://",
    "T",
    "Z",
    "K",
    "B",
]
_BEGINS = [
    "",
    "1",
    "a",
    "= ",
    "between 1 and ",
    "now-",
    "glob:",
    "regex:",
    "1:DAYS:SIMPLE_DATE_FORMAT:",
    "f(",
    "1d",
    '{"checks": "',
    "$.a",
]


def test_the_period_and_the_condition_that_took_half_a_second_take_no_time() -> None:
    assert seconds(parse_period, "1d" + " " * 420 + "x") < 0.01
    assert seconds(parse_period, "1d" + " " * 100_000 + "x") < 0.1
    assert seconds(parse_expectation, "=" + " " * 50_000 + "x" + " " * 50_000 + "\x00") < 0.1


@pytest.mark.parametrize("name", _READERS)
def test_reading_grows_linearly_whatever_is_repeated(name: str) -> None:
    read = _READERS[name]
    for part in _PARTS:
        for begin in _BEGINS:
            slow = grows_at_most_linearly(read, repeated(begin, part, "\x01"), 300)
            assert not slow, (begin, part, slow)


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("1d12h", 129_600_000),
        ("1d 2h 3m 4s", 93_784_000),
        ("5M", 300_000),
        ("0d", 0),
        ("", None),
        ("  ", None),
        (None, None),
        ("1h1d", None),
        ("1d1d", None),
        ("d", None),
        ("1", None),
        ("1x", None),
        ("1d x", None),
        ("9999999999d", None),
        ("²d", None),
    ],
)
def test_periods_are_read_as_pinot_does(text: str | None, period: int | None) -> None:
    assert parse_period(text) == period


@pytest.mark.parametrize(
    ("text", "pattern", "zone"),
    [
        ("1:DAYS:SIMPLE_DATE_FORMAT:yyyy-MM-dd tz(Europe/Berlin)", "yyyy-MM-dd", "Europe/Berlin"),
        ("1:DAYS:SIMPLE_DATE_FORMAT:yyyy-MM-dd tz(UTC) ", "yyyy-MM-dd", "UTC"),
        ("1:DAYS:SIMPLE_DATE_FORMAT:yyyyMMdd", "yyyyMMdd", "UTC"),
    ],
)
def test_the_zone_of_a_format_is_read(text: str, pattern: str, zone: str) -> None:
    assert (parse_format(text).pattern, parse_format(text).zone) == (pattern, zone)


def test_users_patterns_are_bound_in_length_and_memory() -> None:
    assert seconds(lambda t: user_regex("(a+)+b").matches(t), "a" * 100_000) < 0.2
    for pattern in ("a" * 1001, "((a{100}){100}){100}", "(?:" * 1001):
        with pytest.raises(InvalidInput):
            user_regex(pattern)


def _walked(expression: Any) -> object:
    return columns_of(expression), functions_of(expression)
