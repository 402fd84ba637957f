"""``ingestionConfig``: transforms in their order, the filter, time values, and what happens to rows that do not fit."""

import contextlib
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.datatypes.convert import BadValue
from segments.errors import InvalidInput
from segments.expressions.arrow.evaluate import evaluate
from segments.expressions.functions import FUNCTIONS
from segments.expressions.ingestion import Call, Column, Literal, parse_expression
from segments.segmentfile import SegmentReader, read_info, transform_table
from segments.segmentfile.columns.ingest import read_ingestion, reading_schema
from tests.segmentfile.samples import CREATED, DAY_MS, build, config_of, schema_of

#: 2023-11-14 22:13:20.123 UTC, a Tuesday.
MOMENT = 1_700_000_000_123


def _value(text, **row):
    table = pa.table({k: [v] for k, v in row.items()} or {"_": [1]})
    return evaluate(parse_expression(text), table).to_pylist()[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("toEpochSeconds(t)", 1_700_000_000),
        ("toEpochMinutes(t)", 28_333_333),
        ("toEpochHours(t)", 472_222),
        ("toEpochDays(t)", 19_675),
        ("toEpochMinutesRounded(t, 10)", 28_333_330),
        ("toEpochHoursRounded(t, 6)", 472_218),
        ("toEpochDaysBucket(t, 7)", 2_810),
        ("toEpochSecondsRounded(1588469352000, 30)", 1_588_469_340),
        ("fromEpochDays(19675)", 19_675 * DAY_MS),
        ("fromEpochSecondsBucket(2, 30)", 60_000),
        ("fromEpochHours('3')", 10_800_000),
        ("TO_EPOCH_DAYS(t)", 19_675),
        ("toEpochSeconds(-1500)", -1),
        ("toDateTime(t, 'yyyy-MM-dd')", "2023-11-14"),
        ("toDateTime(t, 'HH:mm:ss.SSS')", "22:13:20.123"),
        ("toDateTime(t, 'yyyy-MM-dd''T''HH:mm', 'Asia/Tokyo')", "2023-11-15T07:13"),
        ("toDateTime(t, 'd MMM yyyy')", "14 Nov 2023"),
        ("toDateTime(1609560184005, 'd/M/yyyy H:m:s.SSS')", "2/1/2021 4:3:4.005"),
        ("jsonPathString(missing, '$.a', 'none')", "none"),
        ("jsonPathString(missing, '$.a')", None),
        ("fromDateTime('2023-11-14', 'yyyy-MM-dd')", 19_675 * DAY_MS),
        ("fromDateTime('20231115', 'yyyyMMdd', 'Asia/Tokyo')", 1_699_974_000_000),
        ("year(t)", 2023),
        ("month(t)", 11),
        ("dayOfWeek(t)", 2),
        ("hour(t)", 22),
        ("dateTrunc('HOUR', t)", 1_699_999_200_000),
        ("dateTrunc('week', t)", 1_699_833_600_000),
        ("jsonFormat('a\"b')", '"a\\"b"'),
        ("jsonPathString(j, '$.a.b[1]')", "y"),
        ("jsonPathString(j, '$.a')", '{"b":["x","y"]}'),
        ("jsonPathLong(j, '$.n')", 7),
        ("jsonPathLong(j, '$.zz', 3)", 3),
        ("jsonPathDouble(j, '$[''n'']')", 7.0),
        ("jsonPathString(j, '$.zz')", None),
        ("jsonPathString(j, '$.zz', 'no')", "no"),
        ("jsonPathLong(j, '$.zz')", -(2**63)),
        ("lower('ÄB')", "äb"),
        ("upper(s)", " CITY "),
        ("trim(s)", "city"),
        ("ltrim(s)", "city "),
        ("length(s)", 6),
        ("reverse('abc')", "cba"),
        ("concat('a', n)", "a10"),
        ("concat('a', 'b', '-')", "a-b"),
        ("substr('hello', 1, 3)", "el"),
        ("substr('hello', 2)", "llo"),
        ("replace('a-b-c', '-', '')", "abc"),
        ("startsWith(s, ' c')", True),
        ("contains(s, 'zz')", False),
        ("split('a;b', ';')", ["a", "b"]),
        ("strcmp('a', 'b')", -1),
        ("strcmp(s, s)", 0),
        ("n + 1", 11),
        ("n - 2 * 3", 4),
        ("(n - 2) * 3", 24),
        ("n / 4", 2.5),
        ("n % 3", 1),
        ("-n % 3", -1),
        ("mod(-7.5, 2)", -1.5),
        ("'5' + 1", 6.0),
        ("abs(-3)", 3),
        ("ceil(1.2)", 2.0),
        ("floor(-1.2)", -2.0),
        ("least(2, n)", 2),
        ("greatest(2.5, n)", 10.0),
        ("9007199254740993 + 0", 9_007_199_254_740_993),
        ("n = 10 AND NOT n <> 10", True),
        ("n > 5 OR missing > 5", True),
        ("missing > 5", None),
        ("n < 5 AND missing > 5", False),
        ("missing IS NULL", True),
        ("n IS NOT NULL", True),
        ("n IN (1, 10)", True),
        ("s NOT IN ('a', 'b')", True),
        ("n BETWEEN 1 AND 10", True),
        ("n NOT BETWEEN 1 AND 10", False),
        ("coalesce(missing, n)", 10),
        ("caseWhen(n > 5, 'big', n > 1, 'some', 'small')", "big"),
        ("caseWhen(missing > 5, 1, 2)", 2),
        ("CAST('12' AS LONG)", 12),
        ("cast(n as STRING)", "10"),
        ("cast('true' as boolean)", True),
        ('"odd name" + 1', 6),
        ("true", True),
        ("toEpochDays(missing)", None),
    ],
)
def test_functions_give_pinots_values(text, expected):
    row = {"t": MOMENT, "n": 10, "s": " city ", "j": '{"a":{"b":["x","y"]},"n":7}', "odd name": 5}
    assert _value(text, **row) == expected


def test_nested_input_is_formatted_and_searched():
    row = {"o": {"b": 1, "a": [1, 2]}}
    assert _value("jsonFormat(o)", **row) == '{"a":[1,2],"b":1}'
    assert _value("jsonPathLong(o, '$.a[1]')", **row) == 2
    assert _value("jsonFormat(o)", o='{"b": 1, "a": [1, 2]}') == '{"b":1,"a":[1,2]}'


def test_the_tree_follows_precedence():
    tree = parse_expression("a = 1 OR b < -2 AND NOT c IS NULL")
    assert tree == Call("or", (
        Call("equals", (Column("a"), Literal(1))),
        Call("and", (Call("lessThan", (Column("b"), Literal(-2))), Call("not", (Call("isNull", (Column("c"),)),)))),
    ))  # fmt: skip


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Groovy({x + 1}, x)", "Function 'Groovy' is not supported"),
        ("now()", "Function 'now' is not supported"),
        ("ST_Point(a, b)", "'ST_Point' is not supported"),
        ("a +", "position 3: its end"),
        ("a b", "position 2: b"),
        ("f(a", "position 3"),
        ("a ~ b", "position 1:  ~ b"),
        ("toEpochDays(a, b)", "takes 1 arguments, not 2"),
        ("substr(a)", "takes 2 to 3 arguments, not 1"),
        ("in(a)", "position 0"),
        ("(" * 200 + "a" + ")" * 200, "nested too deeply"),
        ("-" * 5000 + "a", "nested too deeply"),
        ("NOT " * 2000 + "a" + " OR a" * 1000, "at most 10000"),
        ("'open", "position 0"),
        ("a NOT b", "position 6"),
    ],
)
def test_what_is_not_supported_is_refused_by_its_name(text, fault):
    config = config_of(ingestion={"transformConfigs": [{"columnName": "x", "transformFunction": text}]})
    with pytest.raises(InvalidInput, match="The transform of column 'x'") as refused:
        read_ingestion(schema_of(("x", "LONG")), config)
    assert fault in str(refused.value)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab(),'\"=<>!+-*/% 1.eE_$\\ntoisulradfm", max_size=40))
def test_no_text_breaks_the_parser(text):
    with contextlib.suppress(InvalidInput):
        parse_expression(text)


def _config(*transforms, where=None, **more):
    body = {"transformConfigs": [{"columnName": n, "transformFunction": t} for n, t in transforms], **more}
    return config_of(ingestion={**body, "filterConfig": {"filterFunction": where}} if where else body)


def test_transforms_run_in_the_order_they_need_and_keep_values_that_are_there():
    schema = schema_of(("days", "INT"), ("weeks", "INT"), ("name", "STRING"))
    config = _config(
        ("weeks", "days / 7"), ("days", "toEpochDays(hidden)"), ("hidden", "ts * 1"), ("name", "upper(raw)")
    )
    rows = pa.table({"ts": [DAY_MS * 70, DAY_MS * 77], "name": ["kept", None], "raw": ["a", "b"]})
    table, masks = transform_table(rows, schema, config, now_ms=0)
    assert table.to_pydict() == {"days": [70, 77], "weeks": [10, 11], "name": ["kept", "B"]}
    assert not any(m.any() for m in masks.values())


def test_a_kept_value_of_another_type_meets_the_computed_one_in_the_columns_type():
    table, _ = transform_table(
        pa.table({"n": ["5", None], "m": [1, 2]}), schema_of(("n", "LONG")), _config(("n", "m * 10")), now_ms=0
    )
    assert table.column("n").to_pylist() == [5, 20]


def test_the_schemas_own_transform_is_used_unless_the_table_has_one():
    schema = schema_of(
        {"name": "a", "dataType": "LONG", "transformFunction": "x + 1"},
        {"name": "b", "dataType": "LONG", "transformFunction": "x + 1"},
    )
    table, _ = transform_table(pa.table({"x": [1]}), schema, _config(("b", "x + 2")), now_ms=0)
    assert table.to_pydict() == {"a": [2], "b": [3]}


def test_rows_for_which_the_filter_is_true_are_dropped_and_null_keeps():
    config = _config(("days", "toEpochDays(ts)"), where="strcmp(campaign, 'X') = 0 OR days < 10")
    rows = pa.table({"ts": [DAY_MS * 20, DAY_MS * 20, DAY_MS, None], "campaign": ["X", "Y", "Y", None]})
    table, masks = transform_table(rows, schema_of(("days", "INT"), ("campaign", "STRING")), config, now_ms=0)
    assert table.to_pydict() == {"days": [20, -(2**31)], "campaign": ["Y", "null"]}
    assert masks["days"].tolist() == [False, True]


def test_an_error_after_the_filter_still_names_the_row_of_the_input():
    config = _config(where="n = 'drop'")
    with pytest.raises(InvalidInput, match=r"Column 'n', row 3: value 'bad' does not convert to LONG") as refused:
        transform_table(pa.table({"n": ["drop", "1", "drop", "bad"]}), schema_of(("n", "LONG")), config, now_ms=0)
    assert refused.value.data["row"] == 3


@pytest.mark.parametrize(
    ("transforms", "fault"),
    [
        ([("a", "b"), ("b", "c"), ("c", "a")], "circle: a -> b -> c -> a"), ([("a", "a + 1")], "circle: a -> a"),
        ([("a", "x"), ("a", "y")], "'a' has two transforms"), ([("", "x")], "needs 'columnName'"),
    ],
)  # fmt: skip
def test_transforms_that_cannot_be_ordered_are_refused(transforms, fault):
    with pytest.raises(InvalidInput, match=fault):
        read_ingestion(schema_of(("a", "LONG")), _config(*transforms))


def test_a_value_that_an_expression_does_not_take_stops_the_build_by_row():
    with pytest.raises(InvalidInput, match="Column 'x', row 1: the expression does not take the value 'soon'"):
        transform_table(
            pa.table({"d": ["2023-01-01", "soon"]}),
            schema_of(("x", "LONG")),
            _config(("x", "fromDateTime(d, 'yyyy-MM-dd')")),
            now_ms=0,
        )


def test_continue_on_error_stores_null_where_something_does_not_fit_and_keeps_the_row():
    transforms = [("x", "fromDateTime(d, 'yyyy-MM-dd')")]
    rows = {"d": ["1970-01-02", "soon", None] * 30, "n": ["1", "2", "three"] * 30, "m": [["1"], ["x"], ["2", "3"]] * 30}
    schema = schema_of(("x", "LONG"), ("n", "INT"), ("m", "INT[]"))
    table, masks = transform_table(
        pa.table(rows), schema, _config(*transforms, where="n < 0", continueOnError=True), now_ms=0
    )
    assert table.column("x").to_pylist() == [DAY_MS, -(2**63), -(2**63)] * 30
    assert table.column("n").to_pylist() == [1, 2, -(2**31)] * 30
    assert table.column("m").to_pylist() == [[1], [-(2**31)], [2, 3]] * 30
    assert (masks["n"].tolist(), masks["m"].tolist()) == ([False, False, True] * 30, [False, True, False] * 30)


def _timed(kind, form):
    return schema_of(("a", "STRING"), times=[("t", kind, form)])


@pytest.mark.parametrize(
    ("kind", "form", "good", "bad"),
    [
        ("INT", "1:DAYS:EPOCH", 19_000, 100),
        ("STRING", "1:DAYS:SIMPLE_DATE_FORMAT:yyyy-MM-dd", "2023-01-05", "1969-01-01"),
        ("LONG", "1:MILLISECONDS:EPOCH", CREATED, 5),
        ("TIMESTAMP", "TIMESTAMP", CREATED, 2**60),
    ],
)
def test_row_time_values_are_checked_when_the_table_asks(tmp_path, kind, form, good, bad):
    rows, schema = {"t": [good, bad, None], "a": ["x", "y", "z"]}, _timed(kind, form)
    unchecked = {"segmentTimeValueCheck": False}
    transform_table(pa.table(rows), schema, config_of("t", unchecked), now_ms=CREATED)
    with pytest.raises(
        InvalidInput,
        match=r"Column 't', row 1: value .* is a time outside 1971..2071, which 'rowTimeValueCheck' forbids",
    ):
        transform_table(pa.table(rows), schema, config_of("t", {"rowTimeValueCheck": True}), now_ms=CREATED)
    config = config_of("t", {"rowTimeValueCheck": True, "continueOnError": True})
    table, masks = transform_table(pa.table(rows), schema, config, now_ms=CREATED)
    assert masks["t"].tolist() == [False, True, True]
    assert table.column("t").to_pylist()[0] == good
    assert table.column("t").to_pylist()[1] == table.column("t").to_pylist()[2]  # the time of the build


def test_a_wrong_segment_time_becomes_1971_until_now_when_the_table_goes_on(tmp_path):
    build(
        {"t": [5], "a": ["x"]},
        _timed("LONG", "1:MILLISECONDS:EPOCH"),
        config_of("t", {"continueOnError": True}),
        tmp_path,
    )
    info = read_info(tmp_path / "t_0")
    assert (info.start_time, info.end_time, info.time_unit) == (31_536_000_000, CREATED, "MILLISECONDS")


def test_a_segment_holds_what_transforms_made_and_the_filter_left(tmp_path):
    config = _config(("hour", "toEpochHours(ts)"), where="hour < 5")
    build({"ts": [3_600_000 * i for i in range(10)]}, schema_of(("hour", "INT")), config, tmp_path)
    assert SegmentReader(tmp_path / "t_0").column("hour").to_pylist() == [5, 6, 7, 8, 9]


def test_columns_that_only_expressions_read_are_read_from_the_input():
    schema = schema_of(("hour", "INT"))
    plan = read_ingestion(schema, _config(("hour", "toEpochHours(ts)"), where="hour < 5 AND kind = 'x'"))
    assert plan.source_columns == {"ts", "kind"}
    assert [f.name for f in reading_schema(schema, plan).fields] == ["hour", "kind", "ts"]


def test_no_rows_are_no_problem():
    config = _config(("x", "toDateTime(ts, 'yyyy')"), ("y", "split(s, ';')"), where="x = '2020'", continueOnError=True)
    table, _ = transform_table(
        pa.table({"ts": pa.array([], pa.int64())}), schema_of(("x", "STRING"), ("y", "STRING[]")), config, now_ms=0
    )
    assert table.num_rows == 0


def test_the_document_lists_every_function():
    text = (Path(__file__).parents[3] / "docs" / "segment-files.md").read_text().lower().replace("_", "")
    known = [name for name, function in FUNCTIONS.items() if function.arrow is not None]
    assert [name for name in known if name not in text] == []


@pytest.mark.parametrize(
    "level",
    [
        "replace({}, 'a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')",
        "concat({0}, concat({0}, {0}))",
        "jsonFormat(jsonFormat(jsonFormat(jsonFormat(jsonFormat({})))))",
    ],
    ids=["replace", "concat", "jsonFormat"],
)
def test_texts_that_functions_make_longer_and_longer_are_refused_before_they_are_made(level):
    text = "s"
    for _ in range(5):
        text = level.format(text)
    with pytest.raises(BadValue) as refused:
        _value(text, s="a" * 10_000)
    assert "at most 1048576 are made" in refused.value.reason


def test_texts_may_be_long_where_functions_do_not_make_them_longer():
    assert len(_value("replace(s, 'b', 'xxxxxxxx')", s="a" * 2_000_000)) == 2_000_000
    assert _value("replace(s, '', 'xxxxxxxx')", s="a") == "a"
