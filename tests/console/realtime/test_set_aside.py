"""Pages of messages that were set aside: listed by who may see what, filtered, exported, replayed with a preview,
deleted, revealed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.test import Client

from segments import wiring
from segments.clusters.pinot.engine import pinot_engine
from segments.domain.set_aside import Message, Report
from segments.errors import InvalidInput
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import AuditEvent, Cluster, SetAsideMessage
from segments.services.set_aside import keeping, replay
from segments.services.set_aside.listing import Which
from tests.console.conftest import logged_in
from tests.factories import CLUSTER, make_table
from tests.services.realtime_world import TABLE, RealtimeWorld

PAGE = f"/console/tables/{TABLE.typed}/consumption/set-aside/"


@pytest.fixture
def world(tmp_path: Path, db: None) -> Iterator[RealtimeWorld]:
    """A realtime table, mirrored, with three messages set aside, of which one gives a row by now."""
    world = RealtimeWorld(tmp_path)
    world.ctx = replace(world.ctx, cluster=CLUSTER)
    cluster, _ = Cluster.objects.get_or_create(name=CLUSTER)
    ClusterFollower(world.memory, cluster).sync_all()
    payloads = [b'{"password": "hunter2"', b"<b>no json", b'{"id": "fits", "ts": 1700000000000}']
    messages = [
        Message("a", n % 2, str(n), "gone", 1, 0, "", f"reason {n} <i>", len(p), p) for n, p in enumerate(payloads)
    ]
    with wiring.use(world.ctx, None):
        keeping.keep_report(world.ctx, TABLE, Report("1", "Server_1", messages, [], 7))
        yield world


def test_operators_see_messages_without_secrets_and_readers_no_message_at_all(world: RealtimeWorld) -> None:
    text = logged_in("olga", "operate").get(PAGE).content.decode()
    for words in (
        "&lt;b&gt;no json",
        "reason 1 &lt;i&gt;",
        "*****",
        "Replay all 3",
        "7 more than they could keep",
        "Export CSV",
    ):
        assert words in text
    assert "hunter2" not in text
    assert "Show the original" not in text, "that takes an administrator"
    text = logged_in("ron").get(PAGE).content.decode()
    assert "reason 1" in text
    assert "no json" not in text
    assert "Replay selected" not in text


def test_the_list_and_the_files_follow_the_filter(world: RealtimeWorld) -> None:
    olga = logged_in("olga", "operate")
    text = olga.get(PAGE, {"partition": "1"}).content.decode()
    assert ("reason 1" in text, "reason 0" in text) == (True, False)
    assert "No message matches" in olga.get(PAGE, {"q": "nothing like it"}).content.decode()
    assert olga.get(PAGE, {"partition": "x", "state": "odd", "page": "-1"}).status_code == 200
    sheet = b"".join(olga.get(f"{PAGE}export/", {"kind": "csv", "partition": "1"}).streaming_content).decode()  # type: ignore[attr-defined]
    assert ("reason 1" in sheet, "reason 2" in sheet) == (True, False)
    assert olga.get(f"{PAGE}export/", {"kind": "xls"}).status_code == 400


def test_a_replay_shows_first_what_it_gives_and_then_links_to_the_segment(world: RealtimeWorld) -> None:
    olga = logged_in("olga", "operate")
    text = olga.get(f"{PAGE}replay/", {"all": "1"}).content.decode()
    for words in ("1 of 3 messages decode", "2 messages still give no", "Partition 1, offset 1", "delete that segment"):
        assert words in text
    assert "hunter2" not in text
    assert logged_in("ron").post(f"{PAGE}replay/", {"all": "1", "reason": "x"}).status_code == 403
    answer = olga.post(f"{PAGE}replay/", {"all": "1", "reason": "mended"}, follow=True)
    assert "A new segment holds 1 row" in answer.content.decode()
    assert AuditEvent.objects.get(action="replaySetAside", outcome="done").reason == "mended"
    assert "None of these messages gives a row now" in olga.get(f"{PAGE}replay/", {"all": "1"}).content.decode()
    assert "replayed" in olga.get(PAGE, {"state": "replayed"}).content.decode()


def test_a_replay_of_messages_whose_segment_is_still_consumed_asks_for_a_commit(world: RealtimeWorld) -> None:
    SetAsideMessage.objects.update(segment=world.consuming[0])
    text = logged_in("olga", "operate").get(f"{PAGE}replay/", {"all": "1"}).content.decode()
    assert "Force a commit" in text
    assert "Change the schema" not in text


def test_chosen_messages_are_deleted_after_their_number_was_typed(world: RealtimeWorld) -> None:
    olga, first = logged_in("olga", "operate"), SetAsideMessage.objects.order_by("pk")[0]
    assert olga.get(f"{PAGE}delete/").status_code == 400
    values = {"m": [str(first.pk)], "reason": "noise"}
    assert olga.post(f"{PAGE}delete/", {**values, "confirm": "delete 3"}).status_code == 422
    assert olga.post(f"{PAGE}delete/", {**values, "confirm": "delete 1"}).status_code == 302
    assert SetAsideMessage.objects.count() == 2


def test_a_message_is_revealed_once_to_administrators_for_a_reason(world: RealtimeWorld) -> None:
    ada, number = logged_in("ada", "administer"), SetAsideMessage.objects.order_by("pk")[0].pk
    assert "Show the original" in ada.get(PAGE).content.decode()
    assert "hunter2" not in ada.get(f"{PAGE}{number}/").content.decode()
    assert "hunter2" in ada.post(f"{PAGE}{number}/", {"reason": "the producer asks"}).content.decode()
    assert logged_in("olga", "operate").post(f"{PAGE}{number}/", {"reason": "x"}).status_code == 403
    assert AuditEvent.objects.filter(action="revealSetAside", outcome="done").count() == 1


def test_an_offline_table_has_no_such_page(world: RealtimeWorld) -> None:
    make_table("u_OFFLINE")
    assert logged_in("ada", "administer").get(PAGE.replace(TABLE.typed, "u_OFFLINE")).status_code == 404
    assert Client().get(PAGE).status_code == 302


def test_a_table_of_a_pinot_cluster_says_that_its_servers_keep_none(world: RealtimeWorld) -> None:
    with wiring.use(replace(world.ctx, engine=pinot_engine(SimpleNamespace())), None):  # type: ignore[arg-type]  # nobody asks it
        assert "Not available for this cluster" in logged_in("olga", "operate").get(PAGE).content.decode()
        with pytest.raises(InvalidInput, match="servers of Apache Pinot count them"):
            replay.preview_replay(wiring.context(), TABLE, Which())
