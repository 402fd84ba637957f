"""Input values become stored values as in Pinot's creator."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from segments.errors import InvalidInput
from segments.segmentfile import SegmentReader, read_info, transform_table
from segments.segmentfile.columns.partition import partition_ids
from tests.segmentfile.samples import CREATED, DAY_MS, build, config_of, schema_of

INF = float("inf")


def _stored(kind, values, **spec):
    field = {"name": "x", "dataType": kind.removesuffix("[]"), "singleValueField": not kind.endswith("[]"), **spec}
    table, masks = transform_table(pa.table({"x": values}), schema_of(field), config_of(), now_ms=CREATED)
    return table.column("x").to_pylist(), masks["x"].tolist()


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("INT", ["12", " 12 ", "+5"], [12, 12, 5]),
        ("INT", [12.9, -12.9], [12, -12]),
        ("INT", [True, False], [1, 0]),
        ("INT", [3_000_000_000], [-1_294_967_296]),
        ("INT", [1e40], [2**31 - 1]),
        ("INT", [Decimal("7.9")], [7]),
        ("INT", pa.array([date(2022, 1, 8)]), [19_000]),
        ("LONG", ["-9223372036854775808"], [-(2**63)]),
        ("LONG", [1e300], [2**63 - 1]),
        ("FLOAT", ["1e40", "1.5"], [INF, 1.5]),
        ("DOUBLE", ["Infinity", "1d", " 2.5"], [INF, 1.0, 2.5]),
        ("DOUBLE", [-0.0], [0.0]),
        ("BOOLEAN", ["true", "TRUE", "1", "yes"], [1, 1, 1, 0]),
        ("BOOLEAN", [2, 0], [1, 0]),
        ("BOOLEAN", [True, False], [1, 0]),
        (
            "TIMESTAMP",
            ["2023-01-01 00:00:00", "2023-01-01T00:00:00Z", "2023-01-01", "1672531200000"],
            [1_672_531_200_000] * 4,
        ),
        ("TIMESTAMP", ["2023-01-01 00:00:00", "2023-01-02 00:00:00.5"], [1_672_531_200_000, 1_672_617_600_500]),
        ("TIMESTAMP", ["2023-01-01T02:00:00+02:00"], [1_672_531_200_000]),
        ("TIMESTAMP", [datetime(2023, 1, 1, tzinfo=UTC)], [1_672_531_200_000]),
        ("TIMESTAMP", pa.array([date(2023, 1, 1)]), [1_672_531_200_000]),
        ("LONG", [datetime(2023, 1, 1)], [1_672_531_200_000]),
        ("STRING", [datetime(2023, 1, 1, 5)], ["2023-01-01 05:00:00.0"]),
        ("STRING", [date(2023, 1, 1)], ["2023-01-01"]),
        ("DOUBLE", [Decimal("1.5")], [1.5]),
        ("BOOLEAN", [Decimal("0.5")], [1]),
        ("BIG_DECIMAL", [5, 100], ["5", "100"]),
        ("BIG_DECIMAL", [1.5], ["1.5"]),
        ("BIG_DECIMAL", [True], ["1"]),
        ("UUID", [bytes(16)], [bytes(16)]),
        ("BYTES", [[b"a"]], [b"a"]),
        ("STRING", [5, 7], ["5", "7"]),
        ("STRING", [True, False], ["true", "false"]),
        ("STRING", [["a"], ["b"]], ["a", "b"]),
        ("STRING", [{"a": 1}], ["1"]),
        ("STRING", ["x" * 600, "a\0b", ""], ["x" * 512, "a", ""]),
        ("STRING", [1.5, 1e10], ["1.5", "1.0E10"]),
        ("STRING", ["é" * 600], ["é" * 512]),
        ("STRING", [b"\x00\xff"], ["00ff"]),
        ("JSON", ['{"a": 1}', '{"b":1, "a":2}', "not json", "1.50"], ['{"a":1}', '{"b":1,"a":2}', '"not json"', "1.5"]),
        ("JSON", [{"b": 1, "a": [True, None]}], ['{"a":[true,null],"b":1}']),
        ("JSON", [f'"{"x" * 600}"'], [f'"{"x" * 600}"']),
        ("BYTES", ["00ff", "ABCD"], [b"\0\xff", b"\xab\xcd"]),
        ("BYTES", ["00" * 600], [bytes(600)]),
        (
            "UUID",
            ["00000000-0000-0000-0000-0000000000FF", "000000000000000000000000000000ff"],
            [bytes(15) + b"\xff"] * 2,
        ),
        ("BIG_DECIMAL", ["123.4500", "1E+2"], ["123.45", "100"]),
        ("INT[]", [5, 6], [[5], [6]]),
        ("STRING[]", [["b", "a", "b"]], [["b", "a", "b"]]),
        ("DOUBLE[]", [[float("nan"), 1.0]], [[1.0]]),
        ("INT[]", [[1, None, 2]], [[1, 2]]),
        ("INT[]", [["1", " 2"], ["3"]], [[1, 2], [3]]),
    ],
)
def test_values_convert(kind, values, expected):
    assert _stored(kind, values) == (expected, [False] * len(expected))


@pytest.mark.parametrize(
    ("kind", "values", "row"),
    [
        ("INT", ["1", "1.9"], 1),
        ("INT", ["abc"], 0),
        ("INT", ["5", "3000000000"], 1),
        ("INT", ["0x1F"], 0),
        ("INT", ["1", "2", ""], 2),
        ("LONG", ["1e3"], 0),
        ("DOUBLE", ["1", "two"], 1),
        ("TIMESTAMP", ["2023-01-01", "soon"], 1),
        ("TIMESTAMP", pa.array([None, 5], pa.int32()), 1),
        ("BYTES", ["00", "abc"], 1),
        ("BYTES", ["zz"], 0),
        ("UUID", ["x"], 0),
        ("BIG_DECIMAL", ["1", "x"], 1),
        ("BIG_DECIMAL", ["NaN"], 0),
        ("STRING", [["a"], ["a", "b"]], 1),
        ("STRING", [{"a": 1, "b": 2}], 0),
        ("INT[]", [["1"], ["2", "x"]], 1),
    ],
)
def test_a_value_that_does_not_convert_is_named_with_column_and_row(kind, values, row):
    with pytest.raises(InvalidInput, match=rf"Column 'x', row {row}: value .* does not convert to "):
        _stored(kind, values)


@pytest.mark.parametrize(
    ("kind", "values", "default"),
    [
        ("INT", [None, 1], -(2**31)), ("STRING", [None, "a"], "null"), ("BOOLEAN", [None, True], 0),
        ("DOUBLE", [float("nan"), 1.0], -INF),
        ("DOUBLE", ["NaN", "1"], -INF), ("STRING", [[], ["a"]], "null"), ("INT[]", [[], [1]], [-(2**31)]),
        ("INT[]", [None, [1]], [-(2**31)]),
        ("BYTES", [None, b"a"], b""), ("JSON", [None, "1"], "null"), ("BIG_DECIMAL", [None, "1"], "0"),
        ("INT[]", [[None], [1]], [-(2**31)]),
        ("TIMESTAMP", [None, 5], 0), ("UUID", [None, bytes(16)], bytes(16)),
    ],
)  # fmt: skip
def test_nulls_become_the_default_and_are_marked(kind, values, default):
    stored, mask = _stored(kind, values)
    assert (stored[0], mask) == (default, [True, False])


def test_a_missing_column_is_all_default_and_a_given_default_wins():
    schema = schema_of(("a", "INT"), {"name": "b", "dataType": "LONG", "defaultNullValue": 7})
    table, masks = transform_table(pa.table({"a": [1, 2]}), schema, config_of(), now_ms=0)
    assert table.column("b").to_pylist() == [7, 7]
    assert masks["b"].all()


@pytest.mark.parametrize(
    ("strategy", "expected"), [("SUBSTITUTE_DEFAULT_VALUE", "null"), ("NO_ACTION", "abcdef"), ("TRIM_LENGTH", "abc")]
)
def test_texts_beyond_the_maximum_length(strategy, expected):
    assert _stored("STRING", ["abcdef"], maxLength=3, maxLengthExceedStrategy=strategy)[0] == [expected]


def test_too_long_text_is_an_error_when_the_schema_says_so():
    with pytest.raises(InvalidInput, match="row 1"):
        _stored("STRING", ["a", "abcdef"], maxLength=3, maxLengthExceedStrategy="ERROR")


def test_dictionary_encoded_and_chunked_input_is_the_same_as_plain():
    chunked = pa.chunked_array([pa.array(["1", "2"]), pa.array(["2"])])
    assert _stored("INT", chunked)[0] == [1, 2, 2]
    assert _stored("STRING", chunked.dictionary_encode())[0] == ["1", "2", "2"]
    assert _stored("STRING", pa.array(["a"], pa.large_string()))[0] == ["a"]


def _times(tmp_path, kind, fmt, values, **options):
    schema = schema_of(times=[("t", kind, fmt)])
    build({"t": values}, schema, config_of("t"), tmp_path, **options)
    info = read_info(tmp_path / "t_0")
    return info.start_time, info.end_time, info.time_unit


@pytest.mark.parametrize(
    ("kind", "fmt", "values", "expected"),
    [
        ("LONG", "1:MILLISECONDS:EPOCH", [CREATED, CREATED + 5], (CREATED, CREATED + 5, "MILLISECONDS")),
        ("TIMESTAMP", "TIMESTAMP", [CREATED], (CREATED, CREATED, "MILLISECONDS")),
        (
            "STRING",
            "1:DAYS:SIMPLE_DATE_FORMAT:yyyy-MM-dd",
            ["2023-11-20", "2023-11-14"],
            (1699920000000, 1700438400000, "MILLISECONDS"),
        ),
        ("INT", "1:HOURS:EPOCH", [472_222], (472_222, 472_222, "HOURS")),
        ("LONG", "EPOCH|SECONDS|1", [1_700_000_000], (1_700_000_000, 1_700_000_000, "SECONDS")),
        ("INT", "SIMPLE_DATE_FORMAT|yyyyMMdd", [20231114], (1699920000000, 1699920000000, "MILLISECONDS")),
        ("INT", "5:MINUTES:EPOCH", [5_666_666], (28_333_330, 28_333_330, "MINUTES")),  # Pinot forgets the 5
    ],
)
def test_the_times_of_a_segment_follow_the_format_of_its_time_column(tmp_path, kind, fmt, values, expected):
    assert _times(tmp_path, kind, fmt, values) == expected


def test_times_outside_1971_to_2071_are_refused_unless_the_check_is_off(tmp_path):
    schema = schema_of(times=[("t", "LONG", "1:MILLISECONDS:EPOCH")])
    with pytest.raises(InvalidInput, match="1971"):
        build({"t": [5, 10]}, schema, config_of("t"), tmp_path)
    assert not (tmp_path / "t_0").exists()
    build({"t": [5, 10]}, schema, config_of("t", {"segmentTimeValueCheck": False}), tmp_path)
    assert read_info(tmp_path / "t_0").end_time == 10


def test_a_null_time_is_the_build_time(tmp_path):
    assert _times(tmp_path, "INT", "1:DAYS:EPOCH", [None, 19_000], now_ms=20_000 * DAY_MS) == (19_000, 20_000, "DAYS")
    assert SegmentReader(tmp_path / "t_0").column("t").to_pylist() == [20_000, 19_000]


@pytest.mark.parametrize(
    ("function", "values", "four", "seven"),
    [
        (
            "Murmur",
            ["", "a", "hello", "0", "1", "42", "-7", "1234567890123", "café"],
            [1, 0, 1, 0, 3, 0, 3, 2, 2],
            [2, 5, 4, 3, 2, 3, 5, 5, 6],
        ),
        ("Murmur3", ["", "a", "hello", "0", "1", "42", "-7"], [0, 2, 3, 3, 3, 2, 0], [0, 4, 6, 6, 3, 1, 1]),
        ("Modulo", ["1", "42", "-7", "1234567890123"], [1, 2, 1, 3], [1, 0, 0, 1]),
        ("HashCode", ["a", "hello", "1", "42", "-7", "café"], [1, 2, 1, 2, 2, 1], [6, 0, 0, 3, 1, 4]),
        ("ByteArray", ["a", "hello", "42"], [0, 1, 3], [2, 5, 5]),
        ("Fnv", ["a", "hello", "42", ""], [0, 3, 3, 1], [3, 2, 4, 0]),
    ],
)
def test_the_partition_of_a_value_is_that_of_pinots_function(function, values, four, seven):
    assert [partition_ids([v], function, 4) for v in values] == [[p] for p in four]
    assert [partition_ids([v], function, 7) for v in values] == [[p] for p in seven]


def test_modulo_of_text_is_refused():
    with pytest.raises(InvalidInput, match="Modulo"):
        partition_ids(["a"], "Modulo", 4)
