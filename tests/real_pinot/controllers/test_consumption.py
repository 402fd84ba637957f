"""Consumption on real controllers of three versions: who paused and why, what a version lacks, jobs, watermarks; nobody
really consumes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from segments.clusters.pinot import consumption as pinot_realtime
from segments.domain.pinot import capabilities
from segments.domain.pinot.capabilities import has, parse_version
from segments.domain.realtime.force_commit import MAX_BATCH, BatchSettings
from segments.errors import InvalidInput, NotFound, StateConflict, Unavailable
from segments.gateways.controller_protocol import (
    COMMIT,
    COMMIT_CONTINUE,
    COMMIT_SUCCESS,
    UPLOAD_SUCCESS,
    Answer,
    Report,
)
from segments.models import AuditEvent
from segments.names import REALTIME, TableName
from segments.services.clusters import instances
from segments.services.realtime import consuming_info, consumption, force_commit
from segments.services.realtime.consuming_segments import StartFrom
from segments.services.realtime.force_commit import Wanted
from segments.services.segments import segments as segment_lists
from segments.store import paths
from tests.real_pinot.controllers.driven import ANN, Driven
from tests.real_pinot.controllers.test_services import make_tar
from tests.waiting import wait_until

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(300), pytest.mark.django_db]
ALL_AT_ONCE = BatchSettings(size=MAX_BATCH)


def can(each: Driven, name: str) -> bool:
    return has(parse_version(each.version), name)


@contextmanager
def servers_off(each: Driven) -> Iterator[None]:
    """Both servers that stand in are disabled: nobody begins to consume."""

    def switch(is_on: bool) -> None:
        for number in (1, 2):
            name = f"Server_127.0.0.1_{number}"
            instances.set_instance_state(each.ctx, name, is_enabled=is_on, actor=ANN)
            wait_until(
                lambda name=name: instances.instance_json(each.ctx, name)["enabled"] is is_on,
                60.0,
                f"{name} enabled: {is_on}",
            )

    switch(False)
    try:
        yield
    finally:
        switch(True)


@pytest.mark.parametrize("lost", [False, True])
def test_a_pause_keeps_who_and_why_and_a_resume_ends_it(each: Driven, lost: bool) -> None:
    table = each.realtime_table()
    each.transport.lost = "pauseConsumption" if lost else ""
    status = consumption.pause_table(each.ctx, table, comment="new schema", actor=ANN)
    assert (status["pauseFlag"], status["comment"], status["actor"]) == (True, "new schema", "ann")
    assert len(status["consumingSegments"]) == 2
    told = each.raw.call("GET", f"/tables/{table.raw}/pauseStatus").json()
    assert (told.get("comment") == "new schema") is can(each, capabilities.PAUSE_COMMENT)
    assert pinot_realtime.keep(each.ctx) == []
    each.transport.lost = "resumeConsumption" if lost else ""
    assert consumption.resume_table(each.ctx, table, actor=ANN)["pauseFlag"] is False
    consumption.resume_table(each.ctx, table, start=StartFrom("smallest"), actor=ANN)
    assert each.transport.lost == ""
    done = AuditEvent.objects.filter(target=table.typed).order_by("pk").values_list("action", "outcome")
    assert list(done) == [("pauseConsumption", "done"), ("resumeConsumption", "done"), ("resumeConsumption", "done")]


def test_a_pause_that_no_server_hears_of_is_set_and_a_force_commit_that_none_hears_of_says_so(each: Driven) -> None:
    with servers_off(each):
        table = each.realtime_table(is_served=False)
        assert consumption.pause_table(each.ctx, table, comment="x", actor=ANN)["pauseFlag"] is True
        with pytest.raises(Unavailable, match="No force commit message") as told:
            force_commit.force_commit(each.ctx, table, Wanted(), ALL_AT_ONCE, actor=ANN)
        assert "servers are up" in told.value.remedy


def test_what_a_version_lacks_is_refused_with_the_reason_before_anything_is_sent(each: Driven) -> None:
    table = each.realtime_table()
    with pytest.raises(StateConflict, match="has no pause of single partitions"):
        consumption.pause_partitions(each.ctx, table, [0], actor=ANN)
    with pytest.raises(StateConflict, match="lastConsumed, smallest or largest only"):
        consumption.resume_table(each.ctx, table, start=StartFrom("lastConsumed", {0: "5"}), actor=ANN)
    if can(each, capabilities.PAUSE_TOPICS):
        assert consumption.pause_topics(each.ctx, table, [0], actor=ANN)["indexOfInactiveTopics"] == [0]
        assert consumption.resume_topics(each.ctx, table, [0], actor=ANN)["indexOfInactiveTopics"] == []
    else:
        with pytest.raises(StateConflict, match="can pause a whole table only"):
            consumption.pause_topics(each.ctx, table, [0], actor=ANN)
    with pytest.raises(NotFound):
        consumption.pause_table(each.ctx, TableName("nobody", REALTIME), actor=ANN)


def test_a_force_commit_is_confirmed_by_its_job_or_by_our_check(each: Driven) -> None:
    table = each.realtime_table()
    job = force_commit.force_commit(each.ctx, table, Wanted(), ALL_AT_ONCE, actor=ANN)["forceCommitJobId"]
    is_ours = each.ctx.store.exists(paths.commit_job(job)) is not None
    assert is_ours is not can(each, capabilities.FORCE_COMMIT_STATUS)
    status = force_commit.job_status(each.ctx, job)
    assert (status["tableName"], status["numberOfSegmentsYetToBeCommitted"]) == (table.typed, 2)
    with pytest.raises(NotFound, match="nobody"):
        force_commit.job_status(each.ctx, "nobody")
    segment = sorted(each.ideal(table))[0]
    for wanted in (Wanted(partitions=[0]), Wanted(segments=[segment])):
        if can(each, capabilities.FORCE_COMMIT_SELECT):
            chosen = force_commit.force_commit(each.ctx, table, wanted, ALL_AT_ONCE, actor=ANN)["forceCommitJobId"]
            assert force_commit.job_status(each.ctx, chosen)["segmentsYetToBeCommitted"] == [segment]
        else:
            with pytest.raises(StateConflict, match="commits all consuming segments of a table or none"):
                force_commit.force_commit(each.ctx, table, wanted, ALL_AT_ONCE, actor=ANN)
    with pytest.raises((InvalidInput, StateConflict)):
        force_commit.force_commit(each.ctx, table, Wanted(partitions=[7]), ALL_AT_ONCE, actor=ANN)
    if can(each, capabilities.FORCE_COMMIT_BATCH):
        assert (
            force_commit.force_commit(each.ctx, table, Wanted(), BatchSettings(size=1), actor=ANN)["forceCommitStatus"]
            == "SUCCESS"
        )


class Servers:
    """What servers send to a controller when they commit, sent in their place; the file is one of
    ours.
    """

    def __init__(self, each: Driven, folder: Path) -> None:
        self.each, self.folder = each, folder

    def commit(self, table: TableName, segment: str, offset: str) -> None:
        """Both replicas stop at ``offset``, one is chosen, uploads and ends."""
        chosen: list[str] = []

        def ask() -> bool:
            for number in (1, 2):
                report = Report(segment, f"Server_127.0.0.1_{number}", offset, "forceCommitMessageReceived", rows=7)
                if self._said("GET", "segmentConsumed", report).status == COMMIT:
                    chosen.append(report.instance)
            return bool(chosen)

        wait_until(ask, 60.0, f"a server is chosen to commit {segment}")
        report = Report(segment, chosen[0], offset, rows=7, size_bytes=1)
        assert self._said("GET", "segmentCommitStart", report).status == COMMIT_CONTINUE
        tar = make_tar(self.folder, table, segment)
        with tar.open("rb") as file:
            sent = self._said("POST", "segmentUpload", report, files={segment: file})
        assert sent.status == UPLOAD_SUCCESS
        v3 = self.folder / segment / "v3"
        parts = {name: (name, (v3 / name).read_bytes()) for name in ("metadata.properties", "creation.meta")}
        told = self._said("POST", "segmentCommitEndWithMetadata", report, {"location": str(sent.location)}, parts)
        assert told.status == COMMIT_SUCCESS

    def _said(
        self, method: str, message: str, report: Report, more: dict[str, str] | None = None, files: Any = None
    ) -> Answer:
        raw = self.each.raw
        found = raw.http.request(
            method, f"{raw.base}/{message}", params={**report.params(), **(more or {})}, files=files, timeout=60
        )
        return Answer.of(found.json())


def sequences(each: Driven, table: TableName) -> list[tuple[int, str]]:
    """(sequence number, state) of every segment, sorted."""
    return sorted(
        (int(name.split("__")[2]), state) for name, row in each.ideal(table).items() for state in set(row.values())
    )


def test_a_force_commit_is_done_and_a_pause_holds_when_the_servers_have_committed(each: Driven, tmp_path: Path) -> None:
    table = each.realtime_table()
    servers = Servers(each, tmp_path)
    job = force_commit.force_commit(each.ctx, table, Wanted(), ALL_AT_ONCE, actor=ANN)["forceCommitJobId"]
    for segment in sorted(each.ideal(table)):
        servers.commit(table, segment, "10")
    assert force_commit.job_status(each.ctx, job)["numberOfSegmentsYetToBeCommitted"] == 0
    assert sequences(each, table) == [(0, "ONLINE"), (0, "ONLINE"), (1, "CONSUMING"), (1, "CONSUMING")]
    assert [int(w["offset"]) for w in consuming_info.consumer_watermarks(each.ctx, table)] == [10, 10]
    wait_until(lambda: each.view(table) == each.ideal(table), 60.0, "the next segments consume")
    waiting = consumption.pause_table(each.ctx, table, comment="x", actor=ANN)["consumingSegments"]
    for segment in sorted(waiting):
        servers.commit(table, segment, "20")
    assert consumption.pause_status(each.ctx, table)["consumingSegments"] == []
    assert sequences(each, table) == [(0, "ONLINE"), (0, "ONLINE"), (1, "ONLINE"), (1, "ONLINE")]
    assert each.raw.call("GET", f"/segments/{table.raw}").status_code == 200
    assert {r.status for r in segment_lists.read_records(each.ctx, table).values()} == {"DONE"}
    consumption.resume_table(each.ctx, table, actor=ANN)
    wait_until(lambda: sequences(each, table)[-2:] == [(2, "CONSUMING")] * 2, 60.0, "it goes on")
    assert len(consumption.pause_status(each.ctx, table)["consumingSegments"]) == 2


def test_watermarks_are_those_of_the_controller_where_it_reports_them(each: Driven) -> None:
    table = each.realtime_table()
    ours = consuming_info.consumer_watermarks(each.ctx, table)
    assert [(w["partitionGroupId"], w["sequenceNumber"], int(w["offset"])) for w in ours] == [(0, 0, 0), (1, 0, 0)]
    if can(each, capabilities.WATERMARKS):
        theirs = each.raw.call("GET", f"/tables/{table.raw}/consumerWatermarks").json()["watermarks"]
        assert [{**w, "offset": str(w["offset"])} for w in theirs] == [{**w, "offset": str(w["offset"])} for w in ours]
    told = consumption_of(each, table)
    assert sorted(told["_segmentToConsumingInfoMap"]) == sorted(each.ideal(table))


def consumption_of(each: Driven, table: TableName) -> dict[str, dict[str, object]]:
    return pinot_realtime.consuming_segments_info(each.ctx, table)
