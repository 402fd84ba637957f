"""Checks of a new snapshot: documents, conditions and what measured values mean."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments.domain.replacement.check_document import (
    CHECKS,
    checks_of,
    parse_bound,
    parse_checks,
    parse_expectation,
    to_document,
)
from segments.domain.replacement.checks import (
    CheckReport,
    Level,
    Measured,
    NullShare,
    RowCount,
    TimeRange,
    UniqueKey,
    evaluate,
    report_from_json,
)
from segments.domain.tables.table_config import parse_table_config
from segments.errors import InvalidInput

NOW = 1_700_000_000_000
DAY = 86_400_000
counts = st.integers(0, 10**12)
ratios = st.floats(0, 10, allow_nan=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
known_keys = st.sampled_from(
    [
        "kind",
        "name",
        "level",
        "min",
        "max",
        "minRatio",
        "maxRatio",
        "column",
        "columns",
        "notBefore",
        "notAfter",
        "maxAge",
        "sql",
        "expect",
    ]
)
kinds = st.sampled_from(["rowCount", "nullShare", "time", "uniqueKey", "sql", "other"])


@given(counts, counts, ratios, ratios)
def test_a_row_count_passes_exactly_inside_its_ratios(rows: int, before: int, one: float, two: float) -> None:
    low, high = sorted((one, two))
    check = RowCount("c", Level.BLOCK, min_ratio=low, max_ratio=high)
    expected = before == 0 or low * before <= rows <= high * before
    assert evaluate(check, Measured(rows=rows, previous_rows=before), NOW).passed == expected
    assert evaluate(check, Measured(rows=rows, previous_rows=None), NOW).passed


@given(counts, counts, counts)
def test_a_row_count_passes_exactly_inside_its_limits_whatever_was_before(rows: int, one: int, two: int) -> None:
    low, high = sorted((one, two))
    check = RowCount("c", Level.BLOCK, min_rows=low, max_rows=high)
    assert evaluate(check, Measured(rows=rows, previous_rows=7), NOW).passed == (low <= rows <= high)


@given(st.integers(0, 1000), st.data(), st.floats(0, 1))
def test_a_null_share_passes_up_to_its_limit(rows: int, data: st.DataObject, limit: float) -> None:
    nulls = data.draw(st.integers(0, rows))
    found = evaluate(NullShare("c", Level.BLOCK, "v", limit), Measured(rows=rows, nulls=nulls), NOW)
    assert found.passed == (rows == 0 or nulls / rows <= limit)


@given(st.integers(-(10**18), 10**18), st.integers(-(10**18), 10**18))
def test_times_pass_exactly_inside_their_bounds_and_far_ones_are_still_reported(one: int, two: int) -> None:
    first, last = sorted((one, two))
    bounds = parse_bound("2020-01-01"), parse_bound("now+1d")
    found = evaluate(
        TimeRange("c", Level.BLOCK, None, bounds[0], bounds[1]), Measured(first_ms=first, last_ms=last), NOW
    )
    assert found.passed == (first >= 1_577_836_800_000 and last <= NOW + DAY)
    assert found.measured


def test_freshness_is_that_of_the_last_time_and_no_rows_are_not_fresh() -> None:
    check = TimeRange("c", Level.BLOCK, max_age_ms=2 * DAY)
    assert evaluate(check, Measured(first_ms=0, last_ms=NOW - 2 * DAY), NOW).passed
    assert not evaluate(check, Measured(first_ms=0, last_ms=NOW - 2 * DAY - 1), NOW).passed
    assert not evaluate(check, Measured(), NOW).passed


@pytest.mark.parametrize(
    "check",
    [
        RowCount("c", Level.BLOCK, min_rows=0),
        NullShare("c", Level.WARN, "v", 1.0),
        TimeRange("c", Level.BLOCK, max_age_ms=1),
        UniqueKey("c", Level.BLOCK, ("v",)),
    ],
)
def test_what_could_not_be_measured_has_failed_whatever_it_allows(check: Any) -> None:
    found = evaluate(check, Measured(error="nobody answered"), NOW)
    assert not found.passed
    assert "nobody answered" in found.sentence


@pytest.mark.parametrize(
    ("text", "value", "holds"),
    [
        ("= 0", 0, True),
        ("= 0", 0.0, True),
        ("== 0", "0", True),
        ("= 0", 1, False),
        ("= 0", None, False),
        ("!= 0", None, False),
        ("!= 0", 5, True),
        ("<> 'x'", "y", True),
        ("= 'x'", "x", True),
        ("= 'it''s'", "it's", True),
        ("< 2", 1.5, True),
        (">= 0.5", "0.5", True),
        ("between 1 and 5", 5, True),
        ("BETWEEN 1 AND 5", 5.1, False),
        ("> 0", "NaN", False),
        ("= 0", float("nan"), False),
        ("= 9007199254740993", 9007199254740992, False),
        ("> 1", "many", False),
    ],
)
def test_conditions(text: str, value: Any, holds: bool) -> None:
    condition = parse_expectation(text)
    assert condition is not None
    assert condition.holds(value) == holds


@pytest.mark.parametrize(
    "text", ["", "0", "= ", "~ 0", "= x", "between 1", "between a and b", "= nan", "= inf", "drop table"]
)
def test_what_is_no_condition(text: str) -> None:
    assert parse_expectation(text) is None


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ("2024-01-31", 1_706_659_200_000),
        ("2024-01-31T12:00:00Z", 1_706_702_400_000),
        ("2024-01-31T12:00:00+02:00", 1_706_695_200_000),
        ("now", NOW),
        ("now-30d", NOW - 30 * DAY),
        ("NOW + 1d12h", NOW + DAY + DAY // 2),
        (5, 5),
        ("soon", None),
        ("now-", None),
        (True, None),
        (1.5, None),
        ("now-many", None),
    ],
)
def test_moments(value: Any, at: int | None) -> None:
    found = parse_bound(value)
    assert (found.at(NOW) if found else None) == at


def refused_field(document: Any) -> str | None:
    """The field that a refusal names, None when the document is taken."""
    try:
        parse_checks(document)
    except InvalidInput as error:
        return str(error.data["field"])
    return None


@given(json_values)
def test_any_json_is_a_plan_or_refused_with_its_field(body: Any) -> None:
    for document in (body, {"checks": body}, {"checks": [body]}, json.dumps(body)):
        assert refused_field(document) != ""


@given(st.dictionaries(known_keys, json_values, max_size=8), kinds)
def test_any_check_is_taken_or_refused_with_its_field(body: dict[str, Any], kind: str) -> None:
    document = {"checks": [{**body, "kind": kind}]}
    field = refused_field(document)
    if field is not None:
        assert field.startswith("checks")
        return
    (check,) = parse_checks(document).checks
    assert check.kind == kind
    found = evaluate(check, Measured(), NOW)
    assert isinstance(found.passed, bool)


@pytest.mark.parametrize(
    ("document", "cause"),
    [
        ("[]", "must be an object"), ({"checks": [], "more": 1}, "not known"),
        ({"checks": [{"kind": "rowCount", "min": 5, "max": 4}]}, "above"),
        ({"checks": [{"kind": "rowCount", "min": 1}, {"kind": "rowCount", "max": 1}]}, "two checks named"),
        ({"checks": [{"kind": "rowCount", "min": 1, "level": "ignore"}]}, "block or warn"),
        ({"checks": [{"kind": "rowCount", "min": 1, "column": "v"}]}, "not known"),
        ({"checks": [{"kind": "rowCount", "min": True}]}, "whole number"),
        ({"checks": [{"kind": "nullShare", "column": "v", "max": 2}]}, "0 to 1"),
        ({"checks": [{"kind": "time", "maxAge": "2 weeks"}]}, "period"),
        ({"checks": [{"kind": "uniqueKey", "columns": ["a", "a"]}]}, "twice"),
        ({"checks": [{"kind": "sql", "sql": "select 1", "expect": "zero"}]}, "not a condition"),
        ({"checks": [{"kind": "rowCount", "min": 1, "name": str(i)} for i in range(51)]}, "at most 50"),
    ],
)  # fmt: skip
def test_bad_documents_are_refused_with_the_cause(document: Any, cause: str) -> None:
    with pytest.raises(InvalidInput, match=cause):
        parse_checks(document)


def test_a_table_keeps_its_checks_as_text_under_custom_configs() -> None:
    document = {"checks": [{"kind": "rowCount", "min": 1, "name": "enough"}]}
    body = {"tableName": "t", "tableType": "OFFLINE", "metadata": {"customConfigs": {CHECKS: json.dumps(document)}}}
    assert checks_of(parse_table_config(body)).checks == (RowCount("enough", Level.BLOCK, min_rows=1),)
    assert to_document(json.dumps(document)) == {**document, "timeoutMs": 60_000}
    body["metadata"] = {"customConfigs": {CHECKS: document}}
    with pytest.raises(InvalidInput, match="expected text"):
        checks_of(parse_table_config(body))


def test_a_report_survives_its_record() -> None:
    outcomes = (
        evaluate(RowCount("a", Level.BLOCK, min_rows=9), Measured(rows=1), NOW),
        evaluate(NullShare("b", Level.WARN, "v", 0.0), Measured(rows=2, nulls=1), NOW),
    )
    report = CheckReport("t_OFFLINE", "e1", NOW, 12, 3, outcomes, "because", "ann")
    assert report_from_json(json.loads(json.dumps(report.to_json()))) == report
    assert (report.status, [o.name for o in report.warnings]) == ("overridden", ["b"])
