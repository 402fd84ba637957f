"""However rows are spread over segments and servers, the merged answer is that of plain Python over all rows."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pinotdb.native import decode_query_response

from segments.dataplane.query import (
    QueryRejected,
    SegmentRows,
    broker_response,
    decode_partial,
    encode_partial,
    execute_partial,
    merge,
    plan_query,
)
from tests.query.samples import ROWS, SCHEMA, over_one_server, over_two_servers, segments_for

ROW = st.fixed_dictionaries(
    {
        "v": st.sampled_from(["a", "b", "c", "ü"]),
        "n": st.integers(-5, 5),
        "tags": st.lists(st.sampled_from("xyz"), min_size=1, max_size=3),
    }
)


def _groups(rows: list[dict[str, Any]], keep: int) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        if row["n"] > keep:
            found[row["v"]].append(row["n"])
    return found


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(ROW, max_size=40), keep=st.integers(-6, 5), filtered=st.booleans())
def test_random_group_bys_equal_plain_python(rows: list[dict[str, Any]], keep: int, filtered: bool) -> None:
    where = f"where n > {keep}" if filtered else ""
    groups = _groups(rows, keep if filtered else -100)
    simple = f"select v, count(*), sum(n), min(n), max(n), avg(n) from t {where} group by v order by v limit 100"
    wanted = [
        [v, len(x), float(sum(x)), float(min(x)), float(max(x)), sum(x) / len(x)] for v, x in sorted(groups.items())
    ]
    assert over_two_servers(simple, rows)[0].rows == wanted
    rest = (
        f"select v, distinctcount(n), percentile(n, 50), sum(n) + count(*) from t {where} group by v having count(*) "
        "> 1 order by v desc"
    )
    some = {v: sorted(x) for v, x in groups.items() if len(x) > 1}
    assert over_two_servers(rest, rows)[0].rows == [
        [v, len(set(x)), float(x[len(x) // 2]), float(sum(x) + len(x))] for v, x in sorted(some.items(), reverse=True)
    ]


@settings(max_examples=25, deadline=None)
@given(rows=st.lists(ROW, max_size=30))
def test_random_multi_value_group_bys_equal_plain_python(rows: list[dict[str, Any]]) -> None:
    counts: dict[str, int] = defaultdict(int)
    for row in rows:
        for tag in row["tags"]:
            counts[tag] += 1
    result, _ = over_two_servers("select tags, count(*) from t group by tags order by tags", rows)
    assert result.rows == [list(item) for item in sorted(counts.items())]
    page, _ = over_two_servers("select n from t order by n desc limit 5 offset 2", rows)
    assert page.rows == [[n] for n in sorted((r["n"] for r in rows), reverse=True)[2:7]]


def test_groups_that_are_first_only_after_the_merge_are_not_lost() -> None:
    rows = [{"v": v, "n": 1} for v in ["a"] * 4 + ["z"] * 3 + ["b"] * 4 + ["z"] * 3]
    result, _ = over_two_servers("select v, count(*) from t group by v order by count(*) desc limit 1", rows)
    assert result.rows == [["z", 6]]


def test_a_constant_in_order_by_is_no_position() -> None:
    assert over_two_servers("select v, count(*) from t group by v order by 3 + 4, v limit 2")[0].rows == [
        ["s0", 3],
        ["s1", 3],
    ]
    assert over_two_servers("select n from t order by 3 + 4, n desc limit 2")[0].rows == [[11], [10]]


def test_a_selection_sends_no_more_rows_than_the_page_needs() -> None:
    _, plain = over_two_servers("select n from t limit 2 offset 1")
    _, sorted_rows = over_two_servers("select n from t order by n limit 2 offset 1")
    _, distinct = over_two_servers("select distinct n from t order by n limit 2")
    assert [p.rows.num_rows for p in (*plain, *sorted_rows, *distinct)] == [3, 3, 3, 3, 2, 2]


def test_dictionary_and_large_columns_are_read_like_plain_ones() -> None:
    plan = plan_query("select v, count(*), max(n) from t group by v order by v", SCHEMA)
    kinds = [
        pa.dictionary(pa.int32(), pa.string()),
        pa.large_string(),
        pa.string(),
        pa.dictionary(pa.int8(), pa.string()),
    ]
    segments = [
        SegmentRows(
            s.name, s.host, s.rows.set_column(s.rows.schema.get_field_index("v"), "v", s.rows.column("v").cast(kind))
        )
        for s, kind in zip(segments_for(plan), kinds, strict=True)
    ]
    wanted = over_one_server("select v, count(*), max(n) from t group by v order by v").rows
    assert merge(plan, [execute_partial(plan, segments)]).rows == wanted
    assert merge(plan, [execute_partial(plan, [s]) for s in segments]).rows == wanted
    filtered = plan_query("select v, count(*), max(n) from t where v <> 'q' group by v order by v", SCHEMA)
    assert merge(filtered, [execute_partial(filtered, [s]) for s in segments]).rows == wanted
    listed = plan_query("select v from t limit 20", SCHEMA)
    assert len(merge(listed, [execute_partial(listed, [s]) for s in segments]).rows) == len(ROWS)


def test_a_column_that_an_old_segment_lacks_holds_its_default() -> None:
    plan = plan_query("select n, city, tags, raw, ok, f from t", SCHEMA)
    old = SegmentRows("old", "h", pa.table({"n": pa.array([7], pa.int32())}))
    assert merge(plan, [execute_partial(plan, [old])]).rows == [[7, "null", ["null"], "", False, 0.0]]


@pytest.mark.parametrize("where", ["", "where n >= 0"])
def test_numbers_beyond_the_precision_of_doubles_are_aggregated_as_doubles(where: str) -> None:
    rows = [{"l": v, "n": i, "v": "a"} for i, v in enumerate([2**63 - 1, 2**53 + 1, -(2**63), 5])]
    result, _ = over_two_servers(f"select v, max(l), min(l) from t {where} group by v", rows)
    assert result.rows == [["a", float(2**63), float(-(2**63))]]
    result, _ = over_two_servers(f"select max(l), min(l) from t {where}", rows)
    assert result.rows == [[2.0**63, -(2.0**63)]]


def test_counting_rows_needs_no_column() -> None:
    plan = plan_query("select count(*) from t", SCHEMA)
    partial = execute_partial(plan, [SegmentRows("a", "h", pa.table({}), 5), SegmentRows("b", "h", pa.table({}), 0)])
    assert merge(plan, [partial]).rows == [[5]]
    assert (partial.docs_scanned, partial.total_docs, partial.segments, partial.segments_matched) == (5, 5, 2, 1)


def test_more_segments_than_bits_are_counted_right() -> None:
    plan = plan_query("select count(*) from t where n > 9", SCHEMA)
    segments = [SegmentRows(f"s{i}", "h", pa.table({"n": pa.array([i], pa.int32())})) for i in range(100)]
    partial = execute_partial(plan, segments)
    assert (partial.docs_scanned, partial.segments, partial.segments_matched) == (90, 100, 90)


def test_a_partial_result_survives_the_wire() -> None:
    plan = plan_query("select v, distinctcount(n), avg(n) from t where n > 0 group by v", SCHEMA)
    partial = execute_partial(plan, segments_for(plan))
    again = decode_partial(encode_partial(partial))
    assert again == partial
    with pytest.raises(QueryRejected, match="not a partial result"):
        decode_partial(encode_partial(partial)[:40])


def test_many_threads_query_at_once() -> None:
    plan = plan_query("select v, distinctcount(n) from t where n > 0 group by v order by v", SCHEMA)
    segments, wanted, found = segments_for(plan), [["s0", 2], ["s1", 3], ["s2", 3], ["s3", 3]], []

    def work() -> None:
        found.extend(merge(plan, [execute_partial(plan, segments)]).rows == wanted for _ in range(10))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found == [True] * 60


def test_the_response_has_the_fields_that_clients_read() -> None:
    result = over_one_server("select v, count(*) from t group by v order by v limit 1")
    body = broker_response(
        result,
        servers_queried=2,
        servers_responded=2,
        segments_queried=4,
        docs_scanned=12,
        total_docs=12,
        time_used_ms=3,
    )
    assert body["resultTable"] == {
        "dataSchema": {"columnNames": ["v", "count(*)"], "columnDataTypes": ["STRING", "LONG"]},
        "rows": [["s0", 3]],
    }
    assert (body["exceptions"], body["partialResult"], body["numRowsResultSet"], body["timeUsedMs"]) == (
        [],
        False,
        1,
        3,
    )
    assert (body["numServersQueried"], body["numServersResponded"], body["numSegmentsQueried"], body["totalDocs"]) == (
        2,
        2,
        4,
        12,
    )


def test_a_failed_query_has_exceptions_and_no_result_table() -> None:
    body = broker_response(None, exceptions=[{"errorCode": 190, "message": "TableDoesNotExistError"}])
    assert "resultTable" not in body
    assert body["partialResult"] is True
    assert body["exceptions"] == [{"errorCode": 190, "message": "TableDoesNotExistError"}]


def test_pinots_python_client_takes_the_response_for_complete() -> None:
    result = over_one_server("select * from t limit 3")
    body = json.loads(json.dumps(broker_response(result, servers_queried=1, servers_responded=1, request_id="7")))
    read = decode_query_response(body, sql="select * from t limit 3")
    assert read.metadata.completeness == "complete"
    assert read.rows == result.rows
