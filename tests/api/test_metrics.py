"""/metrics of the web process: the state of tables and partitions from their rows, and what services counted."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from segments.clusters.embedded.engine.lineage import EmbeddedLineageEngine
from segments.errors import Unavailable
from segments.gateways.worker_status import shared
from segments.metrics.catalog import METRICS
from segments.metrics.exposition import render
from segments.metrics.metric_kinds import SERVER
from segments.models import Cluster, LagSample, Segment
from segments.services.metrics.installation import Queues, WorkerStates
from segments.services.metrics.page import control_page
from segments.services.metrics.segments import SegmentTimes
from tests.api.cluster import ApiCluster
from tests.factories import make_entry, make_segments, make_table

pytestmark = pytest.mark.django_db
PAUSELESS = {"ingestionConfig": {"streamIngestionConfig": {"pauselessConsumptionEnabled": True}}}


def lines_of(page: bytes) -> dict[str, float]:
    """{line without its value: value}"""
    lines = [line.rpartition(" ") for line in page.decode().splitlines() if line and not line.startswith("#")]
    assert len({name for name, _, _ in lines}) == len(lines), "a line comes twice"
    return {name: float(value) for name, _, value in lines}


def of(name: str, table: str, cluster: str = "pinotadmin", **labels: str) -> str:
    """The line of a table's figure."""
    pairs = sorted({"cluster": cluster, "table": table, **labels}.items())
    inside = ",".join(f'{key}="{value}"' for key, value in pairs)
    return f"pinotadmin_{name}{{{inside}}}"


def test_the_sums_of_a_tables_row_are_its_figures_and_two_clusters_may_have_the_same_table() -> None:
    other = Cluster.objects.create(name="prod", kind=Cluster.Kind.PINOT)
    make_table(
        "t_REALTIME", segments_total=10, segments_in_error=3, segments_unrecoverable=1, segments_short=4,
        segments_unserved=2, segments_without_url=5, segments_committing=2, consuming_segments=2,
        pause={"paused": True}, config=PAUSELESS,
    )  # fmt: skip
    make_table("t_REALTIME", cluster=other, segments_total=0)
    make_table("o_OFFLINE", segments_total=7)
    lines = lines_of(control_page())
    wanted = {
        "segments_in_error_state": 3, "pauseless_segments_in_error_count": 3, "segments_with_less_replicas": 4,
        "pauseless_segments_in_unrecoverable_error_count": 1, "percent_segments_available": 80,
        "segments_missing_download_url": 5, "committing_segment_count": 2, "consuming_segments": 2,
        "table_consumption_paused": 1, "pauseless_consumption_enabled": 1, "segment_count_including_replaced": 10,
        "percent_of_replicas": 100, "replication_from_config": 2,
    }  # fmt: skip
    assert {name: lines[of(name, "t_REALTIME")] for name in wanted} == wanted
    assert lines[of("pauseless_consumption_enabled", "t_REALTIME", "prod")] == 0
    assert lines[of("percent_segments_available", "t_REALTIME", "prod")] == 100
    assert of("consuming_segments", "o_OFFLINE") not in lines


def test_a_table_that_full_disks_have_paused_is_not_counted_with_those_that_a_person_has_paused() -> None:
    by_disks = "RESOURCE_UTILIZATION_LIMIT_EXCEEDED"
    for name, paused, reason in (("a", True, by_disks), ("b", True, "ADMINISTRATIVE"), ("c", False, by_disks)):
        make_table(f"{name}_REALTIME", pause={"paused": paused, "reasonCode": reason})
    lines = lines_of(control_page())
    assert [lines[of("resource_utilization_limit_exceeded", f"{n}_REALTIME")] for n in "abc"] == [1, 0, 0]


def test_lag_is_that_of_the_newest_sample_and_an_old_one_says_nothing() -> None:
    table, now = make_table("t_REALTIME"), timezone.now()
    for partition, seconds, messages in ((0, 100, 9), (0, 30, 7), (1, 900, 50)):
        LagSample.objects.create(
            table=table, partition=partition, at=now - timedelta(seconds=seconds), messages=messages, behind_ms=1500
        )
    lines = lines_of(control_page())
    assert lines[of("max_records_lag", "t_REALTIME", partition="0")] == 7
    assert lines[of("max_record_availability_lag_seconds", "t_REALTIME", partition="0")] == 1.5
    assert of("max_records_lag", "t_REALTIME", partition="1") not in lines


def test_partitions_that_nothing_consumes_are_counted_unless_the_table_is_paused() -> None:
    for name, pause in (("t_REALTIME", {}), ("u_REALTIME", {"paused": True})):
        table = make_table(name, pause=pause)
        make_segments(table, "t__0__0__20260101T0000Z", partition=0)
        make_segments(table, "t__0__1__20260101T0000Z", partition=0, is_consuming=True)
        created_ms = round((timezone.now() - timedelta(seconds=90)).timestamp() * 1000)
        make_segments(table, "t__1__0__20260101T0000Z", partition=1, creation_ms=created_ms)
    lines = lines_of(control_page())
    assert lines[of("missing_consuming_segment_total_count", "t_REALTIME")] == 1
    assert lines[of("missing_consuming_segment_total_count", "u_REALTIME")] == 0
    assert 90 <= lines[of("missing_consuming_segment_max_duration_seconds", "t_REALTIME")] < 120
    assert lines[of("missing_consuming_segment_max_duration_seconds", "u_REALTIME")] == 0


def test_figures_over_all_segments_are_computed_once_a_minute() -> None:
    daily = {"segmentsConfig": {"timeColumnName": "d", "segmentPushFrequency": "daily", "segmentPushType": "APPEND"}}
    config = {"tableName": "d_OFFLINE", "tableType": "OFFLINE", **daily}
    table, day, now_ms = make_table("d_OFFLINE", config=config), 86_400_000, timezone.now().timestamp() * 1000
    first = (now_ms - 5 * day) // day * day
    pushed = {"push_ms": now_ms - 7_200_000, "refresh_ms": now_ms - 3_600_000}
    make_segments(table, "a", start_ms=first, end_ms=first + 1, **pushed)
    make_segments(table, "b", start_ms=first + 3 * day, end_ms=first + 3 * day + 1, replicas_online=1, push_ms=0)
    make_segments(table, "c", start_ms=-1, end_ms=9 * 10**15, is_visible=False, replicas_online=0)
    make_table("empty_OFFLINE")
    times = SegmentTimes()
    lines = lines_of(render(times))
    assert lines[of("number_of_replicas", "d_OFFLINE")] == 1
    assert lines[of("segments_with_invalid_start_time", "d_OFFLINE")] == 0
    assert lines[of("missing_segment_count", "d_OFFLINE")] == 2
    assert 3600 <= lines[of("last_push_time_delay_seconds", "d_OFFLINE")] < 3700
    newest_s = (now_ms - first - 3 * day) / 1000
    assert newest_s - 1 <= lines[of("offline_segment_delay_seconds", "d_OFFLINE")] < newest_s + 100
    assert not [line for line in lines if "empty_OFFLINE" in line]
    Segment.objects.filter(name="c").update(is_visible=True)
    assert lines_of(render(times))[of("segments_with_invalid_start_time", "d_OFFLINE")] == 0
    later = lines_of(render(SegmentTimes()))
    assert [later[of(f"segments_with_invalid_{at}_time", "d_OFFLINE")] for at in ("start", "end")] == [1, 1]
    assert later[of("number_of_replicas", "d_OFFLINE")] == 0


def test_entries_are_counted_by_state_with_the_age_of_the_oldest_that_runs() -> None:
    table = make_table()
    make_entry(table, "a")
    make_entry(table, "b", "IN_PROGRESS")
    lines = lines_of(control_page())
    assert lines[of("lineage_entries", "flights_OFFLINE", state="COMPLETED")] == 1
    assert 299 < lines[of("lineage_oldest_in_progress_seconds", "flights_OFFLINE")] < 400


def test_the_page_names_every_metric_of_the_control_plane_even_where_nothing_happened() -> None:
    found = set(
        re.findall(
            r"^# TYPE (pinotadmin_\w+)",
            control_page(WorkerStates(list), Queues(shared("redis://127.0.0.1:1/0", "none"), 0)).decode(),
            re.MULTILINE,
        )
    )
    assert found == {metric.full_name for metric in METRICS if metric.shown_by != (SERVER,)}


def test_the_number_of_queries_does_not_grow_with_tables_or_segments(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(20):
        make_segments(make_table(f"t{number}_REALTIME"), *(f"s{i}" for i in range(20)), partition=0)
    control_page()
    with django_assert_num_queries(11):
        control_page()


def test_steps_of_replacements_are_counted_as_done_refused_or_failed(
    cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.create()
    make_table("t_OFFLINE", cluster=Cluster.objects.get_or_create(name="test")[0])
    names = ("segment_replacements_total", "segment_replacement_refusals_total")
    done, refused = (of(name, "t_OFFLINE", "test", step="start") for name in names)
    failed = of("num_start_replace_failure_total", "t_OFFLINE", "test")
    before = lines_of(control_page())
    start = "/segments/t/startReplaceSegments?type=OFFLINE"

    def ask(*names: str) -> int:
        return cluster.http.post(start, {"segmentsFrom": [], "segmentsTo": names}, "application/json").status_code

    assert (ask("a"), ask("b", "b")) == (200, 400)
    monkeypatch.setattr(EmbeddedLineageEngine, "start", lambda *_: (_ for _ in ()).throw(Unavailable("gone")))
    assert ask("c") == 503
    after = lines_of(control_page())
    assert [after[line] - before.get(line, 0.0) for line in (done, refused, failed)] == [1, 1, 1]


def test_metrics_need_credentials_unless_the_setting_opens_them(cluster: ApiCluster) -> None:
    assert Client().get("/metrics").status_code == 401
    page = cluster.as_user("reader").get("/metrics")
    assert page.status_code == 200
    assert page["Content-Type"].startswith("text/plain; version=")
    assert b"python_info" in page.content
