"""YAML and JSON that others send are read in time that grows with their length, and within bounds that
say what to do.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from segments.domain.formats.bounded_json import MAX_DEPTH, parse_json
from segments.domain.formats.bounded_yaml import MAX_CHARS, parse_yaml
from segments.domain.push.job_text import parse_text
from segments.domain.push.push_spec import parse_spec
from segments.errors import InvalidInput
from tests.security.growth.timing import grows_at_most_linearly, repeated, seconds, takes_less_than
from tests.security.sizes.texts import aliases, merges

_YAML_PARTS = [
    "- a\n",
    "a: b\n",
    "[",
    "{",
    "[a,",
    "{a: ",
    "- ",
    "? ",
    "a\n",
    '"',
    "'",
    "#",
    "!",
    "&a ",
    "*a ",
    "*a,",
    "|\n",
    ">\n",
    "  ",
    "\t",
    ": ",
    ": a",
    "-",
    "---\n",
    "...\n",
    "%",
    "a: &a\n",
    "[]",
    "x,",
    "\n",
    '"\\x41',
    "é",
    "!!int 1\n- ",
    "<<: ",
    "? a\n",
    "1:1",
    "1",
    "0x",
    "1_",
    "a: [",
    "a: &a [*a]\n",
    "\r",
    "\x85",
    "\\",
]
_JSON_PARTS = [
    "[",
    "{",
    '{"a":',
    '"',
    "\\",
    "\\u",
    "\\ud83d",
    "1",
    "1.",
    "1e",
    "-",
    ",",
    "[],",
    "{},",
    " ",
    "\n",
    "NaN",
    "null,",
    "é",
    "\x00",
    "]",
]


def test_the_aliases_that_took_two_seconds_with_279_bytes_take_no_time() -> None:
    for text in (aliases(6), aliases(20), merges(20)):
        assert seconds(parse_spec, text) < 0.1
        with pytest.raises(InvalidInput, match="too large with its aliases written out"):
            parse_text(text)


@pytest.mark.parametrize("part", _YAML_PARTS)
def test_reading_yaml_grows_linearly_whatever_is_repeated(part: str) -> None:
    begins = ["", "a: ", "a: &a b\nc: [", 'a: "', "a: |\n "]
    slow = {
        begin: found
        for begin in begins
        if (found := grows_at_most_linearly(parse_spec, repeated(begin, part, ""), 1000))
    }
    assert not slow
    longest = "a: " + part * (MAX_CHARS // len(part) - 3)
    assert takes_less_than(1.0, parse_spec, longest)


@pytest.mark.parametrize("part", _JSON_PARTS)
def test_reading_json_grows_linearly_whatever_is_repeated(part: str) -> None:
    begins = ["", "[", '{"a":', '"', '[{"a":1},']
    slow = {
        begin: found
        for begin in begins
        if (found := grows_at_most_linearly(parse_json, repeated(begin, part, ""), 3000))
    }
    assert not slow


@pytest.mark.parametrize(
    ("begin", "part", "end"),
    [
        ("[0", ",1", "]"), ("[0", ",[]", "]"),
        ('{"x":0', ',"":1', "}"), ('["', "\\ud83d\\ude00", '"]'), ("[", "[1],", "1]"), ('["', "x", '"]'),
        ("[0", ',{"a":1}', "]"),
    ],
)  # fmt: skip
def test_large_json_grows_linearly(begin: str, part: str, end: str) -> None:
    assert not grows_at_most_linearly(parse_json, repeated(begin, part, end), 30_000)


def test_objects_of_many_keys_grow_linearly() -> None:
    def make(n: int) -> str:
        return "{" + ",".join(f'"k{i}":{i}' for i in range(n)) + "}"

    def make_twice(n: int) -> str:
        return make(n)[:-1] + ',"k0":1}'

    assert not grows_at_most_linearly(parse_json, make, 5000)
    assert not grows_at_most_linearly(parse_json, make_twice, 5000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [*a]", "uses *a where no &a has ended before"),
        ("a: &a {b: *a}", "uses *a where no &a has ended before"),
        ("a: *x", "uses *x where no &x"),
        ("[" * 51, "nested too deeply"),
        (
            "a: &a [[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]\nb: "
            "[[[[[[[[[[[[[[[[[[[[[[[[[*a]]]]]]]]]]]]]]]]]]]]]]]]]",
            "nested too deeply",
        ),
        ("a: &a " + "x" * 100_000 + "\nb: [" + "*a," * 20 + "]", "too large with its aliases"),
        ("a: [" + "1," * 20_001 + "]", "too large"),
        ("k" * 201 + ": 1", "has a key of 201 characters"),
        ("a: " + "1" * 5000, "has a number of 5000 characters (line 1)"),
        ("a: " + "1:1" * 99, "has a number of 297 characters"),
        ("a: .inf", "has .inf for a number"),
        ("a: !!timestamp x", "has a value of the type 'timestamp'"),
        ("a: !!binary eA==", "has a value of the type 'binary'"),
        ("a: !!set {x}", "has a value of the type 'set'"),
        ('a: !!int ""', "cannot be read"),
        ("a: !!bool x", "cannot be read"),
        ("? [a]\n: b", "has a list or map for a key (line 1)"),
        ("a: 1\nb: 2\na: 3", "'a' is there twice in the job specification (line 3)"),
        ("x" * (MAX_CHARS + 1), f"at most {MAX_CHARS} are allowed"),
        ('{"a": 1, "a": 2}', "'a' is there twice"),
        ('{"a": ' + "[" * 5000, "nested too deeply"),
        ('{"a": NaN}', "NaN is not a JSON value"),
    ],
)
def test_odd_documents_are_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_spec(text)
    assert message in str(caught.value)


def test_aliases_and_merges_of_moderate_size_are_read() -> None:
    found, lines = parse_yaml("base: &b {x: 1, y: 2}\nother:\n  <<: *b\n  y: 3\nday: 2024-01-02\n")
    assert found == {"base": {"x": 1, "y": 2}, "other": {"x": 1, "y": 3}, "day": "2024-01-02"}
    assert lines["other.y"] == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * MAX_DEPTH + "[" + "]" * MAX_DEPTH + "]", "nested too deeply"),
        ('{"a":' * 101 + "1" + "}" * 101, "nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
        ("1" * 1001, "a number has 1001 digits"),
        ("1" * 100_000, "a number has 100000 digits"),
        ("1e400", "the number 1e400 is too large"),
        ("-1e400", "the number -1e400 is too large"),
        ("Infinity", "Infinity is not a JSON value"),
        ('"\\ud800"', "invalid characters"),
        ('{"a": {"b": 1, "b": 1}}', "'b' is there twice"),
        (b"\xff", "it is not utf-8"),
    ],
)
def test_json_beyond_the_bounds_is_refused_with_the_reason(text: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_json(text, what="The body")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "value", [None, 1, 2**70, 1.5, "é\U0001f600", [], {}, {"a": [1, {"b": None}]}, [[0] * 3] * 200]
)
def test_what_is_within_the_bounds_is_read_as_it_is(value: Any) -> None:
    assert parse_json(json.dumps(value)) == parse_json(json.dumps(value).encode("utf-16")) == value


def test_what_is_just_deep_enough_is_read() -> None:
    text = "[" * MAX_DEPTH + "1" + "]" * MAX_DEPTH
    assert parse_json(text) == json.loads(text)
