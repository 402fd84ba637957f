"""The text form of metadata."""

import pytest

from segments.errors import SegmentCorrupt
from segments.segmentfile.format.info import parse_info
from segments.segmentfile.format.properties import (
    escape_key,
    escape_value,
    format_properties,
    from_safe,
    parse_properties,
    to_safe,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("c:\\dir\\x", "c:\\\\dir\\\\x"),
        ("a\\\\b", "a\\\\\\\\b"),
        ("\n\t\r\f", "\\n\\t\\r\\f"),
        ("\x07", "\\u0007"),
        ("é", "\\u00E9"),
        ("\u2028", "\\u2028"),
        ("\x7f", "\x7f"),
        ("k=v:w#h!b", "k=v:w#h!b"),
        ("a,b", "a\\,b"),
        ("\0", "\\u0000"),
    ],
)
def test_values_are_escaped(value, text):
    assert escape_value(value) == text
    assert parse_properties(f"k = {text}\n".encode())["k"] == value


def test_lists_and_empty_values_are_written_as_pinot_does():
    assert format_properties([("k", ["x", "y z"]), ("e", "")]) == b"k = x,y z\ne =\n"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("col with space.x", "col\\ with\\ space.x"),
        ("col:c", "col\\:c"),
        ("col=e", "col\\=e"),
        ("col\\b", "col\\\\b"),
        ("#!,$", "#!,$"),
    ],
)
def test_keys_are_escaped(key, text):
    assert escape_key(key) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k1=v1", {"k1": "v1"}),
        ("k2 : v2", {"k2": "v2"}),
        ("k3   v3", {"k3": "v3"}),
        ("k4=a\\\n   b", {"k4": "ab"}),
        ("dup = 1\ndup = 2", {"dup": ["1", "2"]}),
        ("k = a , b ,c", {"k": ["a", "b", "c"]}),
        ("k =    padded   ", {"k": "padded"}),
        ("k = tail\\\\", {"k": "tail\\"}),
        ("k = \\u0041\\u00e9", {"k": "Aé"}),
        ("k = a,,b", {"k": ["a", "", "b"]}),
        ("bare", {"bare": ""}),
        ("# c\n! d\n", {}),
        ("//x = 3", {"//x": "3"}),
        ("k = a\\,b", {"k": "a,b"}),
        ("a\\ b\\:c = 1", {"a b:c": "1"}),
    ],
)
def test_a_property_reads_as_java_reads_it(text, expected):
    assert parse_properties(text.encode()) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("hello, world", "hello\0\0 world"),
        (" lead", "\0 lead"),
        ("trail ", "trail \0"),
        ("😀", None),
        ("plain", "plain"),
    ],
)
def test_values_that_a_property_cannot_hold_have_a_safe_form(value, text):
    assert to_safe(value) == text
    if text is not None:
        assert from_safe(text) == value


def test_an_unescaped_comma_in_a_maximum_is_refused():
    text = (
        "segment.total.docs = 1\nsegment.dimension.column.names = s\ncolumn.s.columnType = "
        "DIMENSION\ncolumn.s.dataType = STRING\n"
        "column.s.cardinality = 1\ncolumn.s.maxValue = a,b\n"
    )
    with pytest.raises(SegmentCorrupt, match=r"column\.s\.maxValue"):
        parse_info(text.encode(), b"")


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(SegmentCorrupt, match="offset 4"):
        parse_properties(b"k = \xff")
