"""A server reads exactly the range of a lost segment again, on record, one job per segment, cancellable."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from segments.clusters.embedded.realtime.committing import repair_committing
from segments.clusters.embedded.realtime.lost_segments import forget_old_jobs
from segments.domain.realtime.reingestion.job import State
from segments.errors import NotFound, Rejected, StateConflict, Unavailable
from segments.metrics.exposition import RecordedValues, render
from segments.metrics.metric_kinds import SERVER
from segments.services.core.context import Actor
from segments.services.realtime.reingestion import broken_segments, jobs
from segments.store import paths
from segments.store.records.data_loss import read_data_loss
from tests.dataplane.consuming_world import RT, ConsumingWorld, instance
from tests.dataplane.reingestion.lost import GIVES_UP_SOON, TABLE, back, change, consumed, job_of, lose
from tests.dataplane.world import poll

ME = Actor("ada", "the disks are gone")


def post(world: ConsumingWorld, number: int, segment: str, query: str = "") -> Any:
    """POST /reingestSegment on a server's own port."""
    return world.http.ask(world.servers[number].admin_url, "POST", f"/reingestSegment/{segment}{query}", 10)


def listed(world: ConsumingWorld, number: int) -> Any:
    """GET /reingestSegment/jobs."""
    return world.http.ask(world.servers[number].admin_url, "GET", "/reingestSegment/jobs", 10)


def test_a_lost_segment_is_read_again_and_is_the_same_file_as_before(world: ConsumingWorld) -> None:
    segment = consumed(world)[1]
    before = world.fields(segment)
    lose(world, segment)
    answer = post(world, 1, segment)
    assert answer.keys() == {"jobId", "segmentName", "startTimeMs"}
    assert answer["segmentName"] == segment
    back(world, segment)
    after = world.fields(segment)
    same = ("segment.crc", "segment.total.docs", "segment.realtime.startOffset", "segment.realtime.endOffset",
            "segment.start.time", "segment.end.time", "segment.index.version", "segment.creation.time")  # fmt: skip
    assert {k: after[k] for k in same} == {k: before[k] for k in same}
    assert after["segment.download.url"]
    for number in (1, 2):
        world.exact(number)
    poll(lambda: listed(world, 1) == [], what="no job any more")
    assert (job_of(world, segment).state, job_of(world, segment).rows) == (State.DONE, 10)
    assert job_of(world, segment).id == answer["jobId"]


def test_filters_and_messages_set_aside_are_those_of_consumption(world: ConsumingWorld) -> None:
    world.create_realtime(rows=10, servers=(1,), stream=GIVES_UP_SOON)
    world.start_server(1)
    world.stream.send("topic", 0, [b"no json", b'{"id": "i0", "n": 0, "ts": "x"}'], 1)
    world.send(12)
    poll(lambda: len(world.chain()) == 2, 15, "the commit")
    world.settled()
    segment = world.chain()[0]
    before, aside = world.fields(segment), len(world.reports.messages)
    lose(world, segment)
    post(world, 1, segment)
    back(world, segment)
    assert world.fields(segment)["segment.crc"] == before["segment.crc"]
    poll(lambda: len(world.reports.messages) > aside, 10, "the messages to be reported again")
    assert {m.offset for m in world.reports.messages} == {m.offset for m in world.reports.messages[:aside]}


def test_what_cannot_be_reingested_is_refused_on_the_server(world: ConsumingWorld) -> None:
    names = consumed(world)
    lost = names[0]
    lose(world, lost)
    with pytest.raises(Rejected):
        post(world, 1, "abc")
    with pytest.raises(NotFound):
        post(world, 1, "nobody__0__0__20260101T0000Z")
    with pytest.raises(NotFound):
        post(world, 1, "r__0__99__20260101T0000Z")
    with pytest.raises(Rejected, match="download address"):
        post(world, 1, names[1])
    with pytest.raises(Rejected, match="IN_PROGRESS"):
        post(world, 1, names[-1])
    assert "segment.crc" not in world.fields(lost)


def test_a_segment_has_one_job_in_the_whole_cluster(world: ConsumingWorld) -> None:
    segment = consumed(world)[0]
    lose(world, segment)
    world.stream.is_down = True
    answer = post(world, 1, segment)
    assert listed(world, 1) == [answer]
    for number in (1, 2):
        with pytest.raises(Rejected, match=f"reingested by {instance(1)} already"):
            post(world, number, segment)
    world.stream.is_down = False
    back(world, segment)
    assert world.registrations.heard == [segment]


def test_a_job_that_is_cancelled_changes_nothing_and_can_be_begun_again(
    world: ConsumingWorld, events: list[tuple[str, str, dict[str, Any]]]
) -> None:
    segment = consumed(world)[0]
    lose(world, segment)
    world.stream.is_down = True
    job = jobs.reingest(world.ctx, TABLE, segment, actor=ME)
    poll(lambda: job_of(world, segment).state is State.READING, what="reading")
    assert jobs.cancel(world.ctx, TABLE, segment, actor=ME).state is State.CANCELLED
    poll(lambda: listed(world, 1) == listed(world, 2) == [], what="the server to leave it")
    world.stream.is_down = False
    with pytest.raises(StateConflict, match="not being reingested"):
        jobs.cancel(world.ctx, TABLE, segment, actor=ME)
    assert world.fields(segment)["segment.realtime.status"] == "COMMITTING"
    assert world.registrations.heard == []
    assert jobs.reingest(world.ctx, TABLE, segment, actor=ME).id != job.id
    back(world, segment)
    assert [(action, outcome) for action, outcome, _ in events][:3] == [
        ("reingestSegment", "done"), ("cancelReingestion", "done"), ("cancelReingestion", "refused"),
    ]  # fmt: skip


def test_a_server_that_starts_again_goes_on_with_its_job(world: ConsumingWorld) -> None:
    segment = consumed(world)[0]
    lose(world, segment)
    world.stream.is_down = True
    answer = post(world, 1, segment)
    poll(lambda: job_of(world, segment).state is State.READING, what="reading")
    world.servers.pop(1).stop()
    assert job_of(world, segment).is_active
    world.stream.is_down = False
    world.start_server(1)
    back(world, segment)
    poll(lambda: job_of(world, segment).state is State.DONE, what="the job to end")
    assert job_of(world, segment).id == answer["jobId"]


def test_the_job_of_a_dead_server_is_taken_over_and_the_dead_one_leaves_it(world: ConsumingWorld) -> None:
    segment = consumed(world)[0]
    lose(world, segment)
    world.stream.is_down = True
    post(world, 1, segment)
    poll(lambda: job_of(world, segment).state is State.READING, what="reading")
    world.servers.pop(1).stop()
    world.stream.is_down = False
    job = jobs.reingest(world.ctx, TABLE, segment, actor=ME)
    assert job.instance == instance(2)
    world.start_server(1)
    back(world, segment)
    assert world.registrations.heard == [segment]
    for number in (1, 2):
        world.exact(number)


def test_a_lost_answer_of_the_registration_is_verified_in_the_record(world: ConsumingWorld) -> None:
    segment = consumed(world)[0]
    lose(world, segment)

    def lost_answer(_: str) -> None:
        world.registrations.after = lambda _segment: None
        raise Unavailable("The answer is lost.")

    world.registrations.after = lost_answer
    post(world, 1, segment)
    back(world, segment)
    poll(lambda: job_of(world, segment).state is State.DONE, what="the job to end")
    assert world.registrations.heard == [segment]


def test_a_range_that_the_stream_has_lost_is_refused_by_name_and_may_be_accepted(
    world: ConsumingWorld, events: list[tuple[str, str, dict[str, Any]]]
) -> None:
    segment = consumed(world)[0]
    lose(world, segment)
    world.stream.expire("topic", 0, 4)
    with pytest.raises(Rejected, match="from 0 to 4"):
        post(world, 1, segment)
    (shown,) = broken_segments.preview(world.ctx, TABLE, [segment])
    assert (shown.missing, shown.messages, shown.start, shown.end, shown.can_start) == (("0", "4"), 6, "0", "10", True)
    with pytest.raises(StateConflict, match="from 0 to 4"):
        jobs.reingest(world.ctx, TABLE, segment, actor=ME)
    jobs.reingest(world.ctx, TABLE, segment, accepts_loss=True, actor=ME)
    back(world, segment)
    fields = world.fields(segment)
    assert (fields["segment.total.docs"], fields["segment.realtime.endOffset"]) == ("6", "10")
    record = world.store.get(paths.segment(RT, segment)).record
    assert record.maps["custom.map"]["pinotadmin.lostOffsets"] == "0:4"
    assert [(x.start, x.end, x.segment) for x in read_data_loss(world.store, RT)] == [("0", "4", segment)]
    by_action = {(action, outcome): detail for action, outcome, detail in events}
    assert by_action["reingestSegment", "refused"]["missing"] == ["0", "4"]
    assert by_action["reingestSegment", "done"]["acceptLoss"] is True
    assert by_action["segmentReingested", "done"]["lost"] == [["0", "4"]]
    poll(lambda: sum(world.rows_of(1).values()) == 26, what="the other rows")


def failures() -> float:
    """Reingestions of the table that failed, as servers count them."""
    page = render(RecordedValues([SERVER], lambda: [(RT,)])).decode()
    name = f'pinotadmin_reingestion_failures_total{{table="{RT}"}} '
    return next(float(line.removeprefix(name)) for line in page.splitlines() if line.startswith(name))


def test_rows_that_leave_the_stream_while_they_are_read_end_the_job_with_their_range(world: ConsumingWorld) -> None:
    segment, before = consumed(world)[1], failures()
    lose(world, segment)
    world.stream.is_down = True
    post(world, 1, segment)
    poll(lambda: job_of(world, segment).state is State.READING, what="reading")
    world.stream.expire("topic", 0, 25)
    world.stream.is_down = False
    poll(lambda: job_of(world, segment).state is State.FAILED, what="the job to fail")
    assert job_of(world, segment).missing == ("10", "20")
    assert failures() == before + 1
    assert world.fields(segment)["segment.realtime.status"] == "COMMITTING"


def test_a_topic_that_was_made_again_has_lost_the_whole_range(world: ConsumingWorld) -> None:
    segment = consumed(world)[1]
    lose(world, segment)
    world.stream._topics.clear()  # the broker forgets
    world.stream.create("topic", 1)
    with pytest.raises(Rejected, match="from 10 to 20"):
        post(world, 1, segment)


def test_a_committed_segment_whose_every_copy_is_gone_is_read_again_for_a_person(world: ConsumingWorld) -> None:
    names = consumed(world)
    segment = names[0]
    crc = world.fields(segment)["segment.crc"]
    with pytest.raises(StateConflict, match="is not broken"):
        jobs.reingest(world.ctx, TABLE, names[1], actor=ME)
    lose(world, segment, is_committed=True)
    assert [b.name for b in broken_segments.broken_segments(world.ctx, TABLE)] == [segment]
    started = jobs.reingest_all(world.ctx, TABLE, None, actor=ME)
    assert [job.segment for job in started.jobs] == [segment]
    back(world, segment)
    assert world.fields(segment)["segment.crc"] == crc
    for number in (1, 2):
        world.exact(number)


def test_a_committed_segment_whose_file_is_there_is_not_read_again(world: ConsumingWorld) -> None:
    segment = consumed(world)[0]
    path = world.deep_store.segment_path("r", segment)
    kept = (world.folder / "deepstore" / path).read_bytes()
    lose(world, segment, is_committed=True)
    (world.folder / "deepstore" / path).write_bytes(kept[:100])
    with pytest.raises(StateConflict, match="is in the deep store"):
        jobs.reingest(world.ctx, TABLE, segment, actor=ME)


def test_a_segment_that_was_consumed_by_nobody_alive_waits_for_a_server(world: ConsumingWorld) -> None:
    segment = consumed(world)[0]
    lose(world, segment)
    for number in (1, 2):
        world.servers.pop(number).stop()
    with pytest.raises(StateConflict, match="None of the segment's servers is alive"):
        jobs.reingest(world.ctx, TABLE, segment, actor=ME)


def test_a_record_that_is_done_meanwhile_wins_over_the_reingestion(world: ConsumingWorld) -> None:
    segment = consumed(world)[0]
    committed = world.store.get(paths.segment(RT, segment)).record
    lose(world, segment)
    world.registrations.before = lambda _: change(world, paths.segment(RT, segment), lambda _record: committed)
    post(world, 1, segment)
    poll(lambda: not job_of(world, segment).is_active, what="the job to end")
    assert world.fields(segment) == dict(committed.simple)


def test_the_servers_port_answers_people_only_with_the_right(world: ConsumingWorld) -> None:
    segment = consumed(world, servers=(1,))[0]
    credentials = base64.b64encode(b"somebody:secret").decode()
    for method, path in (("POST", f"/reingestSegment/{segment}"), ("GET", "/reingestSegment/jobs")):
        request = urllib.request.Request(f"{world.servers[1].admin_url}{path}", method=method)
        request.add_header("Authorization", f"Basic {credentials}")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=5)
        assert refused.value.code == 401
        json.loads(refused.value.read())


def test_the_pass_begins_it_once_and_leaves_to_a_person_what_needs_one(world: ConsumingWorld) -> None:
    names = consumed(world)
    lose(world, names[0])
    assert "is read from the stream again by" in repair_committing(world.ctx, TABLE)[0][0]
    back(world, names[0])
    assert repair_committing(world.ctx, TABLE) == ([], [])

    lose(world, names[1])
    world.stream.is_down = True
    assert len(repair_committing(world.ctx, TABLE)[0]) == 1
    poll(lambda: job_of(world, names[1]).state is State.READING, what="reading")
    done, (finding,) = repair_committing(world.ctx, TABLE)
    assert done == []
    assert "is being reingested by" in finding.message
    jobs.cancel(world.ctx, TABLE, names[1], actor=ME)
    poll(lambda: listed(world, 1) == listed(world, 2) == [], what="the server to leave it")
    world.stream.is_down = False
    assert "Cancelled by ada" in repair_committing(world.ctx, TABLE)[1][0].message

    jobs.reingest(world.ctx, TABLE, names[1], actor=ME)
    back(world, names[1])
    lose(world, names[2])
    world.stream.expire("topic", 0, 22)
    done, (finding,) = repair_committing(world.ctx, TABLE)
    assert done == []
    assert "from 20 to 22" in finding.message


def test_jobs_of_segments_that_are_gone_are_forgotten(world: ConsumingWorld) -> None:
    segment = consumed(world)[0]
    lose(world, segment)
    jobs.reingest(world.ctx, TABLE, segment, actor=ME)
    back(world, segment)
    poll(lambda: not job_of(world, segment).is_active, what="the job to end")
    forget_old_jobs(world.ctx, TABLE)
    assert len(jobs.table_jobs(world.ctx, TABLE)) == 1
    world.store.delete(paths.segment(RT, segment))
    forget_old_jobs(world.ctx, TABLE)
    assert jobs.table_jobs(world.ctx, TABLE) == []


def test_a_server_reads_as_many_segments_at_a_time_as_it_has_workers(
    world: ConsumingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)  # half of the processors
    names = consumed(world, servers=(1,))[:2]
    for segment in names:
        lose(world, segment)
    world.stream.is_down = True
    for segment in names:
        post(world, 1, segment)
    poll(lambda: job_of(world, names[0]).state is State.READING, what="reading")
    assert job_of(world, names[1]).state is State.QUEUED
    assert [job["segmentName"] for job in listed(world, 1)] == names
    jobs.cancel(world.ctx, TABLE, names[1], actor=ME)
    world.stream.is_down = False
    back(world, names[0])
    poll(lambda: listed(world, 1) == [], what="both jobs to end")
    assert job_of(world, names[1]).state is State.CANCELLED
    assert world.registrations.heard == [names[0]]
