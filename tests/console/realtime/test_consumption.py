"""Pages of a realtime table: what each partition does, pause with a reason and a planned end, resume, force commit, lag
of a day.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from segments import wiring
from segments.domain.realtime.pause import pause_of
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import AuditEvent, Cluster, LagSample, Table
from segments.services.realtime import consumption, lag
from segments.services.realtime.monitor import sampling
from segments.store.records.data_loss import DataLoss, record_data_loss
from tests.console.conftest import logged_in
from tests.factories import CLUSTER
from tests.services.embedded_engine import asking
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld


def says(url: str, *_: object) -> list[dict[str, Any]]:
    """A server's consumingSegmentsInfo: partition 0 is 7 messages behind, partition 1 is not known."""
    found = []
    for partition, behind in ((0, "7"), (1, "NOT_CALCULATED")):
        segment = next(s for s in says.segments if s.split("__")[1] == str(partition))  # type: ignore[attr-defined]
        info: Mapping[str, Any] = {"recordsLag": {str(partition): behind}, "currentOffsets": {str(partition): "42"}}
        found.append(
            {
                "segmentName": segment,
                "consumerState": "CONSUMING",
                "lastConsumedTimestamp": 5,
                "partitionOffsetInfo": info,
            }
        )
    return found


@pytest.fixture
def world(tmp_path: Path, db: None) -> Iterator[RealtimeWorld]:
    """A realtime table with two partitions on two servers, mirrored."""
    world = RealtimeWorld(tmp_path)
    world.ctx = asking(replace(world.ctx, cluster=CLUSTER), says)
    says.segments = world.consuming  # type: ignore[attr-defined]
    cluster, _ = Cluster.objects.get_or_create(name=CLUSTER)
    ClusterFollower(world.memory, cluster).sync_all()
    with wiring.use(world.ctx, None):
        yield world


@pytest.fixture
def operator(db: None) -> Client:
    return logged_in("olga", "operate")


BASE = f"/console/tables/{TABLE.typed}"
PAGE = f"{BASE}/consumption/"


def test_the_page_shows_every_partition_with_its_state_offset_and_lag(operator: Client, world: RealtimeWorld) -> None:
    text = operator.get(PAGE).content.decode()
    for words in (
        *world.consuming,
        "7 messages",
        "time not known",
        "42",
        "Pause…",
        "Force commit…",
        'hx-trigger="every 2s"',
    ):
        assert words in text
    fragment = operator.get(PAGE, headers={"HX-Request": "true"}).content.decode()
    assert fragment.lstrip().startswith('<div id="consumption"')


def consumers(url: str, method: str, path: str, *_: object) -> list[dict[str, Any]]:
    """As ``says``; asked for its consumers a server reports two bad messages in partition 0 and a stream that is
    down in 1.
    """
    if not path.endswith("/consumers"):
        return says(url)
    bad = [{"offset": "17", "reason": "no JSON <b>"}]
    zero = {
        "segmentName": "a",
        "partition": 0,
        "problem": "",
        "rows": 40,
        "bytes": 4096,
        "messages": 42,
        "badMessages": 2,
        "badSamples": bad,
    }
    one = {"segmentName": "b", "partition": 1, "problem": "The stream does not answer.", "info": {}}
    return [zero, one, {"segmentName": "c", "partition": None}]


def test_messages_set_aside_and_why_a_partition_waits_are_shown(operator: Client, world: RealtimeWorld) -> None:
    ctx = asking(world.ctx, consumers)
    with wiring.use(ctx, None):
        text = operator.get(PAGE).content.decode()
    for words in (
        "2 of 42 messages set aside",
        "Messages set aside",
        "no JSON &lt;b&gt;",
        "The stream does not answer.",
        "40 rows",
    ):
        assert words in text


def test_lost_stream_data_is_listed_newest_first(operator: Client, world: RealtimeWorld) -> None:
    assert "Messages that were not read" not in operator.get(PAGE).content.decode()
    losses = [
        DataLoss(0, "100", "350", world.consuming[0], world.now - 1000),
        DataLoss(1, "5-0", "9-0", "", world.now),
        DataLoss(1, "9-0", "12-0", "", world.now - 2000, is_skipped=True, count=77),
    ]
    record_data_loss(world.ctx.store, TABLE.typed, losses)
    text = operator.get(PAGE).content.decode().split("Messages that were not read")[1]
    assert text.index("5-0") < text.index("350") < text.index("12-0")
    oldest = text[text.index("12-0") :]
    assert oldest.index("77") < oldest.index(">skipped<")
    assert "250" in text
    assert "not known" in text
    assert f"/segments/{world.consuming[0]}/" in text


def test_a_pause_needs_a_reason_is_audited_and_shown_everywhere(operator: Client, world: RealtimeWorld) -> None:
    assert operator.post(f"{PAGE}pause/", {"reason": ""}).status_code == 422
    assert not pause_of(world.ideal).paused
    answer = operator.post(
        f"{PAGE}pause/", {"reason": "broken producer", "resume_after": "30m"}, follow=True
    ).content.decode()
    state = pause_of(world.ideal)
    assert (state.paused, state.comment, state.actor) == (True, "broken producer", "olga")
    assert state.resume_at_ms == world.now + 30 * 60_000
    for words in ("Paused by olga", "broken producer", "It resumes automatically", "Resume…"):
        assert words in answer
    event = AuditEvent.objects.get(action="pauseConsumption")
    assert (event.actor, event.reason) == ("olga", "broken producer")
    ClusterFollower(world.memory, Cluster.objects.get(name=CLUSTER)).sync_all()
    assert Table.objects.get().is_paused
    assert "paused" in operator.get("/").content.decode()


def test_a_planned_end_that_is_no_period_is_reported(operator: Client, world: RealtimeWorld) -> None:
    answer = operator.post(f"{PAGE}pause/", {"reason": "x", "resume_after": "soon"})
    assert answer.status_code == 400
    assert "is not a period" in answer.content.decode()
    assert not pause_of(world.ideal).paused


def test_resume_shows_where_each_partition_goes_on_before_it_does(operator: Client, world: RealtimeWorld) -> None:
    operator.post(f"{PAGE}pause/", {"reason": "x"})
    world.commit("10")
    text = operator.get(f"{PAGE}resume/").content.decode()
    assert "Stopped at" in text
    assert "Resumes at" in text
    answer = operator.post(f"{PAGE}resume/", {"reason": "mended", "start": "lastConsumed"})
    assert answer.status_code == 302
    assert not pause_of(world.ideal).paused
    assert len(world.consuming) == 2


def test_one_partition_can_be_paused_and_resumed_alone(operator: Client, world: RealtimeWorld) -> None:
    operator.post(f"{PAGE}pause/", {"reason": "x", "p": ["1"]})
    assert pause_of(world.ideal).partitions == (1,)
    assert "stopping" in operator.get(PAGE).content.decode()
    operator.post(f"{PAGE}resume/", {"reason": "x", "p": ["1"], "start": "lastConsumed"})
    assert pause_of(world.ideal).partitions == ()
    assert operator.get(f"{PAGE}pause/", {"p": "one"}).status_code == 400


def test_force_commit_asks_the_servers_and_names_its_job(operator: Client, world: RealtimeWorld) -> None:
    answer = operator.post(f"{PAGE}commit/", {"reason": "x"}, follow=True).content.decode()
    assert "is on its way" in answer
    assert "2 of 2 segments left" in answer
    assert world.messages()


@pytest.mark.parametrize("button", ["pause/", "resume/", "commit/"])
def test_who_may_not_operate_changes_nothing(viewer: Client, world: RealtimeWorld, button: str) -> None:
    before = world.ideal
    assert viewer.post(f"{PAGE}{button}", {"reason": "x", "start": "lastConsumed"}).status_code == 403
    assert world.ideal == before
    assert "segments.operate" in viewer.get(PAGE).content.decode()


def test_segments_can_be_reset_and_reloaded_from_their_page(operator: Client, world: RealtimeWorld) -> None:
    segment = world.consuming[0]
    page = f"{BASE}/segments/{segment}/"
    assert "Reset…" in operator.get(page).content.decode()
    assert operator.post(f"{page}reset/", {"reason": "stuck"}).status_code == 302
    assert AuditEvent.objects.filter(action__startswith="resetSegment", outcome="done").exists()


def test_the_page_says_paused_or_not_as_the_cluster_does_though_the_mirror_is_behind(
    operator: Client, world: RealtimeWorld
) -> None:
    table = Table.objects.get()
    tag = '<span class="tag">paused</span>'
    for is_mirrored_as_paused in (True, False):
        Table.objects.filter(pk=table.pk).update(pause={"paused": is_mirrored_as_paused})
        change = consumption.resume_table if is_mirrored_as_paused else consumption.pause_table
        change(world.ctx, TABLE, actor=ANN)
        for headers in ({}, {"HX-Request": "true"}):
            text = operator.get(PAGE, headers=headers).content.decode()
            assert (tag in text) is not is_mirrored_as_paused
            assert 'id="table-tags"' in text  # the fragment brings it for the head of the page, too


def test_while_a_table_is_paused_its_page_counts_what_waits_in_the_stream(
    operator: Client, world: RealtimeWorld
) -> None:
    consumption.pause_table(world.ctx, TABLE, actor=ANN)
    world.commit("10")
    ClusterFollower(world.memory, Cluster.objects.get()).sync_all()
    assert "updated every minute" in operator.get(PAGE).content.decode()
    world.streams.topics["a"] = {0: [0, 1510], 1: [0, 10]}
    world.now = int(timezone.now().timestamp() * 1000)
    sampling.run(world.ctx, TABLE)
    assert {s.partition: s.messages for s in LagSample.objects.all()} == {0: 1500, 1: 0}
    assert "1,500 messages unread" in operator.get(PAGE).content.decode()
    world.now += 60_000
    world.streams.topics["a"] = {0: [0, 2510], 1: [0, 10]}
    sampling.run(world.ctx, TABLE)
    text = operator.get(PAGE).content.decode()
    assert "2,500 messages unread" in text
    assert "peak 2,500" in text  # also after the pause


def test_the_preview_of_a_resume_is_that_of_the_place_which_is_chosen(operator: Client, world: RealtimeWorld) -> None:
    consumption.pause_table(world.ctx, TABLE, actor=ANN)
    world.commit("10")
    world.streams.topics["a"] = {0: [0, 1510], 1: [0, 10]}
    assert "1,500 rows" in operator.get(f"{PAGE}resume/?from=lastConsumed&start=largest").content.decode()
    text = operator.get(f"{PAGE}resume/").content.decode()
    assert "1,500 rows" not in text
    assert text.count('hx-target="#starts"') == 3


@pytest.mark.parametrize(("counted", "words"), [(1500, "1,500 rows"), (None, "more than 10,000 rows")])
def test_the_preview_of_a_resume_numbers_the_rows_that_it_skips(
    operator: Client, world: RealtimeWorld, monkeypatch: pytest.MonkeyPatch, counted: int | None, words: str
) -> None:
    """Also of a stream whose offsets do not number its messages, as Redis; only what is too many to be counted has no
    number.
    """
    monkeypatch.setattr("segments.services.realtime.stream_facts.StreamFacts.count", lambda *_: counted)
    consumption.pause_table(world.ctx, TABLE, actor=ANN)
    world.commit("10")
    world.streams.topics["a"] = {0: [0, 1510], 1: [0, 10]}
    text = operator.get(f"{PAGE}resume/?from=largest").content.decode()
    assert words in text
    assert "some rows" not in text


def test_rows_visible_of_a_realtime_table_are_those_that_queries_see(
    operator: Client, world: RealtimeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Committed 100, 40 being consumed, 60 committed since the mirror's last read; the list says that it shows what is
    committed.
    """
    first, second = world.consuming
    Table.objects.update(rows_visible=100)
    tell = [{"segmentName": first, "partition": 0, "rows": 40, "bytes": 1, "messages": 40}]
    world.done(second, "9").set_record(second, segment_total_docs="60")
    with wiring.use(asking(world.ctx, lambda *_: tell), None):
        text = operator.get(f"{BASE}/").content.decode()
        tables = operator.get("/").content.decode()
    assert '<dt>Rows visible</dt><dd>200<span class="sub">100 committed</span>' in text
    assert re.search(r'100<div class="small muted">committed</div>', tables)


def test_a_lag_that_nobody_knows_is_not_drawn_as_none(operator: Client, world: RealtimeWorld) -> None:
    table = Table.objects.get()
    for minutes in (3, 2, 1):
        LagSample.objects.create(table=table, partition=0, at=timezone.now() - timedelta(minutes=minutes), offset="5")
    text = operator.get(PAGE).content.decode()
    assert "<polyline" not in text
    assert "peak" not in text
    assert '<span class="muted small">not known</span>' in text


def test_lag_is_sampled_and_kept_for_a_day(operator: Client, world: RealtimeWorld) -> None:
    now = timezone.now()
    world.now = int(now.timestamp() * 1000)
    table = Table.objects.get()
    LagSample.objects.create(table=table, partition=0, at=now - timedelta(hours=25), messages=1)
    LagSample.objects.create(table=table, partition=0, at=now - timedelta(hours=5), messages=900)
    assert sampling.run(world.ctx, TABLE) == []
    kept = LagSample.objects.filter(partition=0)
    assert [s.messages for s in kept] == [900, 7]
    assert LagSample.objects.get(partition=1).messages == 0  # its server cannot count them: the stream was asked
    assert kept[1].at == datetime.fromtimestamp(world.now / 1000, UTC)
    text = operator.get(PAGE).content.decode()
    assert "<polyline" in text
    assert "at most 900" in text
    LagSample.objects.create(table=table, partition=1, at=now - timedelta(hours=1), behind_ms=4200)
    assert "peak 4.2 s" in operator.get(PAGE).content.decode()
    body = lag.lag_json(world.ctx, TABLE)
    assert [p["partition"] for p in body["partitions"]] == [0, 1]
    assert [h["messages"] for h in body["partitions"][0]["history"]] == [900, 7]


def test_an_offline_table_has_no_consumption_page(operator: Client, world: RealtimeWorld) -> None:
    assert operator.get("/console/tables/nobody_OFFLINE/consumption/").status_code == 404
