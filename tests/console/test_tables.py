"""The table list and a table's overview, segments and config."""

from __future__ import annotations

import re
import time

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from segments.models import Segment
from tests.factories import make_entry, make_event, make_finding, make_push, make_run, make_segments, make_table

#: Queries of a logged-in page: session, user, permissions of user and groups, grants, clusters, the number at the bell.
#: A list adds one for its columns and views.
FRAME = 7


def _text(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, answer.content[:500]
    return answer.content.decode()


def test_without_tables_the_list_explains_the_first_step(viewer: Client) -> None:
    text = _text(viewer, "/")
    assert "No table yet" in text
    assert "/schemas" in text


def test_tables_in_trouble_come_first(viewer: Client) -> None:
    make_table("a_OFFLINE")
    make_table("b_OFFLINE", replicas_online=7)
    make_table("c_OFFLINE")
    make_finding(table_name="c_OFFLINE", severity="error", message="gone")
    text = _text(viewer, "/")
    assert text.index("c_OFFLINE") < text.index("b_OFFLINE") < text.index("a_OFFLINE")
    for words in ("needs help", "degraded", "healthy", "7 of 8 online", "1 error"):
        assert words in text


@pytest.mark.parametrize(
    ("age_s", "consuming", "severity", "shown"),
    [
        (5, 2, None, "starting"),
        (90, 2, None, "needs help"),
        (5, 1, None, "needs help"),  # one was committed, and nobody serves it
        (5, 2, "warning", "starting"),
        (5, 2, "error", "needs help"),
    ],
)
def test_a_table_whose_servers_have_just_begun_to_consume_needs_no_help(
    viewer: Client, age_s: int, consuming: int, severity: str | None, shown: str
) -> None:
    table = make_table(
        "a_REALTIME", replicas_wanted=4, replicas_online=0, segments_total=2, consuming_segments=consuming
    )
    for number in range(2):
        created = int((time.time() - age_s * number) * 1000)
        Segment.objects.create(table=table, name=f"a__{number}__0", is_consuming=True, creation_ms=created)
    if severity is not None:
        make_finding(table_name="a_REALTIME", severity=severity)
    text = _text(viewer, "/")
    assert {words for words in ("needs help", "degraded", "healthy", "starting") if words in text} == {shown}


def test_a_closed_finding_does_not_count(viewer: Client) -> None:
    from django.utils import timezone

    make_table("a_OFFLINE")
    make_finding(table_name="a_OFFLINE", severity="error", closed_at=timezone.now())
    text = _text(viewer, "/")
    assert "healthy" in text
    assert "error" not in text


def test_the_list_shows_rows_snapshot_and_last_push(viewer: Client) -> None:
    table = make_table(rows_visible=12_345_678)
    make_entry(table)
    make_push(state="FAILED")
    text = _text(viewer, "/")
    assert 'title="12,345,678">12.35 M' in text
    assert "5 min ago" in text
    assert "FAILED" in text


def test_search_narrows_the_list_and_says_when_nothing_matches(viewer: Client) -> None:
    make_table("flights_OFFLINE")
    make_table("sales_OFFLINE")
    found = _text(viewer, "/?q=sale")
    assert "sales_OFFLINE" in found
    assert "flights_OFFLINE" not in found
    assert "No table matches" in _text(viewer, "/?q=<b>")


@pytest.mark.parametrize("tables", [1, 20])
def test_the_list_costs_the_same_queries_for_any_number_of_tables(
    viewer: Client, django_assert_max_num_queries: DjangoAssertNumQueries, tables: int
) -> None:
    for i in range(tables):
        make_entry(make_table(f"t{i}_OFFLINE"), f"entry-{i}")
    with django_assert_max_num_queries(FRAME + 3):
        _text(viewer, "/")


def test_sizes_that_no_record_has_are_not_shown_as_nothing(operator: Client) -> None:
    """Older versions of Pinot record none of segments that a stream filled."""
    make_table("t_OFFLINE", rows_visible=900, bytes_visible=0, bytes_total=0)
    text = _text(operator, "/console/tables/t_OFFLINE/")
    assert "not on record" in text
    make_table("empty_OFFLINE", rows_visible=0, bytes_visible=0, bytes_total=0)
    assert "not on record" not in _text(operator, "/console/tables/empty_OFFLINE/")


def test_the_overview_shows_sums_schema_findings_and_pushes(
    operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    table = make_table()
    make_entry(table)
    make_finding()
    make_run()
    make_push()
    with django_assert_max_num_queries(FRAME + 7):
        text = _text(operator, "/console/tables/flights_OFFLINE/")
    for words in (
        "336,776",
        "2 segments replaced by 2",
        "carrier",
        "STRING[ ]",
        "Segment new_1 has 1 of 2 replicas.",
        "126,000 rows",
        "Preview rollback",
    ):
        assert words in text


@pytest.mark.usefixtures("world")
def test_the_overview_of_a_stream_leads_to_its_history_and_lists_no_pushes(operator: Client) -> None:
    make_table("rows_REALTIME")
    make_table("never_OFFLINE")
    stream, files = (_text(operator, f"/console/tables/{name}/") for name in ("rows_REALTIME", "never_OFFLINE"))
    for words in ("Last pushes", "no replacement yet"):
        assert (words in stream, words in files) == (False, True)


def test_segments_are_paged_in_the_database(
    viewer: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    table = make_table(segments_total=120)
    make_segments(table, *(f"s_{i:03}" for i in range(120)))
    with django_assert_max_num_queries(FRAME + 3):
        first = _text(viewer, "/console/tables/flights_OFFLINE/segments/")
    assert "1 to 50 of 120" in first
    assert "s_049" in first
    assert "s_050" not in first
    last = _text(viewer, "/console/tables/flights_OFFLINE/segments/?page=3")
    assert "101 to 120 of 120" in last
    assert 'rel="next"' not in last
    assert "No such page" in _text(viewer, "/console/tables/flights_OFFLINE/segments/?page=9")
    assert "1 to 50" in _text(viewer, "/console/tables/flights_OFFLINE/segments/?page=x")


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("q=alp", {"alpha"}),
        ("status=DONE", {"beta"}),
        ("seen=hidden", {"gamma"}),
        ("seen=visible", {"alpha", "beta", "delta"}),
        ("replicas=short", {"delta"}),
        ("q=zzz", set()),
    ],
)
def test_segments_are_filtered(viewer: Client, query: str, shown: set[str]) -> None:
    table = make_table()
    make_segments(table, "alpha")
    make_segments(table, "beta", status="DONE")
    make_segments(table, "gamma", is_visible=False)
    make_segments(table, "delta", replicas_online=1)
    text = _text(viewer, f"/console/tables/flights_OFFLINE/segments/?{query}")
    assert {n for n in ("alpha", "beta", "gamma", "delta") if f"/segments/{n}/" in text} == shown


def test_segments_are_sorted(viewer: Client) -> None:
    table = make_table()
    make_segments(table, "small", total_docs=1)
    make_segments(table, "large", total_docs=9)
    text = _text(viewer, "/console/tables/flights_OFFLINE/segments/?sort=-rows")
    assert text.index("large") < text.index("small")


def test_a_segment_shows_its_replicas_in_words(viewer: Client) -> None:
    table = make_table()
    make_segments(table, "s", replicas={"Server_a_1": "ONLINE", "Server_b_1": "ERROR"}, is_visible=False)
    text = _text(viewer, "/console/tables/flights_OFFLINE/segments/s/")
    for words in ("Server_b_1", "ERROR", "the lineage hides it", "3735928559"):
        assert words in text
    Segment.objects.all().delete()
    assert viewer.get("/console/tables/flights_OFFLINE/segments/s/").status_code == 404


def test_config_and_schema_are_shown_as_json(viewer: Client) -> None:
    make_table()
    text = _text(viewer, "/console/tables/flights_OFFLINE/config/")
    assert "consistentDataPush" in text
    assert "dimensionFieldSpecs" in text


def test_the_config_shows_what_its_tasks_do_and_what_is_ignored(viewer: Client) -> None:
    task = {"inputDirURI": "file:///in", "inputFormat": "csv", "schedule": "0 */30 * * * ?", "push.mode": "<b>"}
    table = make_table()
    table.config = {**table.config, "task": {"taskTypeConfigsMap": {"FileIngestionTask": task, "MergeRollupTask": {}}}}
    table.save()
    text = _text(viewer, "/console/tables/flights_OFFLINE/config/")
    for words in ("Schedule: every 30 minutes (UTC).", "Next runs:", "Nothing on this cluster runs tasks of type"):
        assert words in text
    assert text.count("<strong>Ignored:</strong>") == 1
    table.config["task"]["taskTypeConfigsMap"]["FileIngestionTask"]["schedule"] = "<script>"
    table.save()
    text = _text(viewer, "/console/tables/flights_OFFLINE/config/")
    assert "It cannot run like this." in text
    assert "<script>&" not in text
    assert "seconds" in text


def test_names_are_escaped(viewer: Client) -> None:
    make_table()
    make_event(target="flights_OFFLINE", reason="<script>alert(1)</script>")
    text = _text(viewer, "/console/tables/flights_OFFLINE/audit/")
    assert "&lt;script&gt;" in text
    assert "<script>alert" not in text


def test_many_tables_are_paged_those_in_trouble_first(viewer: Client) -> None:
    for i in range(60):
        make_table(f"t{i:02d}_OFFLINE")
    make_finding(table_name="t57_OFFLINE", severity="error")
    make_finding(table_name="t58_OFFLINE", severity="warning")
    first, second = (viewer.get("/", {"page": n}).content.decode() for n in (1, 2))
    found = [re.findall(r'class="table-name" id="t-\d+" href="[^"]*">([^<]*)', text) for text in (first, second)]
    assert found[0][:3] == ["t57_OFFLINE", "t58_OFFLINE", "t00_OFFLINE"]
    assert (len(found[0]), len(found[1]), len({*found[0], *found[1]})) == (50, 10, 60)
    assert "60 tables; those with problems come first" in first
    assert "No table is on this page" in viewer.get("/", {"page": 9}).content.decode()
