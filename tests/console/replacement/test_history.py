"""The history of a table in the console: what each snapshot was, going back by one button, and undoing it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from segments import wiring
from segments.console import operation
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import AuditEvent, Snapshot, Table
from segments.services.replacement.history.causes import causes_of, note_causes
from segments.services.segments import archive, deletion
from segments.store import paths
from tests.console.conftest import TYPED, FakeBroker
from tests.factories import CLUSTER, make_event, make_session, make_snapshot, make_table
from tests.services.replacement.undo.serving import ServingWorld
from tests.services.world import ANN, TABLE

HISTORY = f"/console/tables/{TYPED}/history/"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ServingWorld]:
    """Its servers load and drop segments at once."""
    world = ServingWorld(tmp_path / "store")
    world.ctx = replace(world.ctx, cluster=CLUSTER)
    with wiring.use(world.ctx, FakeBroker()):
        yield world


@pytest.fixture
def follow(world: ServingWorld, db: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Has the mirror read everything now; a button waits for that."""
    follower = ClusterFollower(world.memory, make_table(TYPED).cluster)
    monkeypatch.setattr(operation, "wait_for_mirror", lambda *_: follower.sync_all())
    return follower.sync_all


@pytest.fixture
def four(world: ServingWorld, follow: Callable[[], None]) -> None:
    """Snapshot 1 is a, 2 is b, 3 is c, 4 is d."""
    world.upload("a")
    follow()
    for old, new in ("ab", "bc", "cd"):
        world.push(f"to-{new}", [old], [new])
        follow()


def text(client: Client, address: str = HISTORY) -> str:
    return client.get(address).content.decode()


def undo_of(page: str) -> str:
    """Where the button leads."""
    found = re.search(r'<a class="button" href="([^"]+)"><svg(?:(?!<a ).)*Undo…', page)
    assert found is not None
    return found[1]


def go(client: Client, number: int) -> str:
    """Press the button; the page that follows."""
    found = re.search(r'name="seen" value="(\d+)"', text(client, f"{HISTORY}{number}/restore/"))
    assert found is not None
    answer = client.post(f"{HISTORY}{number}/restore/", {"reason": "all wrong", "seen": found[1]})
    assert answer.status_code == 302, answer.content.decode()
    return text(client, answer["Location"])


@pytest.mark.usefixtures("four")
def test_each_snapshot_says_who_made_it_and_the_present_one_is_marked(viewer: Client) -> None:
    shown = text(viewer)
    assert [f"Snapshot {n}<" in shown for n in (4, 3, 2, 1)] == [True] * 4
    assert ("New data by ann: “because”" in shown, shown.count("what queries see")) == (True, 1)
    assert ("Go back to this…" not in shown, "Preview going back" in shown) == (True, True)


def test_a_stream_that_has_committed_nothing_yet_says_that_queries_see_its_rows(
    world: ServingWorld, viewer: Client
) -> None:
    make_table("rows_REALTIME")
    make_table("empty_OFFLINE")
    live, empty = (text(viewer, HISTORY.replace(TYPED, name)) for name in ("rows_REALTIME", "empty_OFFLINE"))
    assert "when a segment is committed; queries see rows of the stream before that, too" in live
    assert "as soon as queries see a segment" in empty


def test_checks_that_were_overridden_lead_to_who_did_it_and_why(world: ServingWorld, viewer: Client) -> None:
    make_table(TYPED)
    make_snapshot(1, checks="overridden")
    assert f'<a href="/console/tables/{TYPED}/checks/">checks overridden</a>' in text(viewer)


@pytest.mark.usefixtures("four")
def test_a_reason_that_only_names_its_push_is_left_out(viewer: Client) -> None:
    push = str(uuid.uuid4())
    for reason, is_shown in ((f"push {push}", False), ("push of the week", True)):
        Snapshot.objects.filter(number=3).update(push=push, actor="ben", reason=reason)
        assert (f"by ben: “{reason}”" in text(viewer)) == is_shown


@pytest.mark.usefixtures("four")
def test_three_steps_back_and_forward_again_are_one_button_each(world: ServingWorld, operator: Client) -> None:
    preview = text(operator, f"{HISTORY}1/restore/")
    assert ("Go back to snapshot 1" in preview, "in one switch" in preview, "It can be undone until" in preview) == (
        True, True, True,
    )  # fmt: skip
    after = go(operator, 1)
    assert ("see snapshot 1 again" in after, f'href="{HISTORY}4/restore/">Undo</a>' in after) == (True, True)
    assert (world.visible, Snapshot.objects.first().kind) == (["a"], "rollback")
    assert "Rolled back by olga: “all wrong”" in after
    assert "Go to snapshot 4" not in after
    go(operator, 4)
    assert (world.visible, Snapshot.objects.first().number) == (["d"], 6)
    event = AuditEvent.objects.filter(action="restoreSnapshot").first()
    assert event is not None
    assert (event.actor, event.detail["snapshot"], event.detail["from"]) == ("olga", 4, 5)


@pytest.mark.usefixtures("four")
def test_a_return_is_undone_from_the_history_by_whoever_comes_later(operator: Client, viewer: Client) -> None:
    assert "Undo…" not in text(operator)
    go(operator, 1)
    assert undo_of(text(operator)) == f"{HISTORY}4/restore/"
    assert "Undo…" not in text(viewer)
    go(operator, 4)
    assert undo_of(text(operator)) == f"{HISTORY}5/restore/", "the undo is undone, also for the same reason"


@pytest.mark.usefixtures("four")
def test_undo_is_offered_with_the_time_that_is_left(world: ServingWorld, operator: Client) -> None:
    go(operator, 1)
    row = Snapshot.objects.first()
    assert row is not None
    until = row.at + timedelta(days=world.ctx.limits.deleted_segments_days)
    assert re.search(rf'until <time datetime="{until:%Y-%m-%dT%H:%M:%S}Z">', text(operator))


@pytest.mark.usefixtures("four")
def test_the_audit_is_linked_and_undo_offered_also_after_the_clean_up_noted_who_did_it(operator: Client) -> None:
    go(operator, 1)
    assert note_causes() == 4
    event = AuditEvent.objects.get(action="restoreSnapshot")
    shown = text(operator)
    assert (f'/audit/{event.pk}/">audit' in shown, undo_of(shown)) == (True, f"{HISTORY}4/restore/")


def test_a_return_that_was_undone_keeps_its_own_reason(db: None) -> None:
    """The same entry was made by the one and taken back by the other."""
    at, detail = timezone.now() - timedelta(hours=2), {"entry": "e"}
    for number, reason in enumerate(("far back", "it was right"), start=1):
        row = make_snapshot(number, TYPED, kind="return" if number == 1 else "rollback", entries=["e"], at=at)
        event = make_event(action="restoreSnapshot", target=TYPED, reason=reason, detail=detail)
        AuditEvent.objects.filter(pk=event.pk).update(at=row.at + timedelta(seconds=3))
        at += timedelta(hours=1)
    causes = causes_of(list(Snapshot.objects.all()))
    assert [causes[n].reason for n in (1, 2)] == ["far back", "it was right"]


@pytest.mark.usefixtures("four")
def test_two_switches_that_nobody_on_record_asked_for_as_one_are_not_undone_as_one(operator: Client) -> None:
    go(operator, 1)
    AuditEvent.objects.filter(action="restoreSnapshot").delete()
    Snapshot.objects.filter(number__gte=4).update(actor="olga", reason="all wrong")
    assert "Undo…" not in text(operator)
    Snapshot.objects.filter(number=4).update(actor="ann")
    assert undo_of(text(operator)) == f"{HISTORY}4/restore/"


@pytest.mark.usefixtures("four")
def test_an_expired_snapshot_says_what_is_gone_and_cannot_be_gone_to(
    world: ServingWorld, operator: Client, follow: Callable[[], None]
) -> None:
    deletion.delete_segments(world.ctx, TABLE, ["d"], actor=ANN)
    world.clean()
    follow()
    root = world.ctx.deep_store.local_root
    for kept in archive.list_kept(world.ctx, TABLE)[0] if root else ():
        for file in root.rglob(kept.file):
            file.unlink()
    shown = text(operator)
    assert ("The files of 1 segment are gone, e.g. &#x27;d&#x27;." in shown, "expired" in shown) == (True, True)
    refused = operator.post(f"{HISTORY}4/restore/", {"reason": "back", "seen": "5"})
    assert (refused.status_code, "are gone" in refused.content.decode()) == (409, True)


@pytest.mark.usefixtures("four")
def test_any_two_snapshots_are_compared_also_one_whose_files_are_gone(
    world: ServingWorld, viewer: Client, follow: Callable[[], None]
) -> None:
    assert f"/console/tables/{TYPED}/diff/?from=3&amp;to=4" in text(viewer)
    deletion.delete_segments(world.ctx, TABLE, ["d"], actor=ANN)
    world.clean()
    follow()
    shown = text(viewer, f"/console/tables/{TYPED}/diff/?from=2&to=4")
    assert ("Only in the first (1)" in shown, "Only in the second (1)" in shown) == (True, True)
    assert "Columns of 1 segment of snapshot 4 are not compared" in shown
    assert shown.count('<td class="number">10</td><td class="number">10</td>') == 1, "the rows of both"


def test_a_segment_that_was_overwritten_differs_between_the_snapshots_before_and_after(
    world: ServingWorld, viewer: Client, follow: Callable[[], None]
) -> None:
    world.upload("a", "b")
    follow()
    node = world.memory.get(paths.segment(TYPED, "a"))
    assert node is not None
    assert node.record is not None
    fields = {**node.record.simple, "segment.crc": "2", "segment.total.docs": "13"}
    world.memory.replace(paths.segment(TYPED, "a"), SegmentMetadata("a", fields).to_record(), node.version)
    follow()
    shown = text(viewer, f"/console/tables/{TYPED}/diff/?from=1&to=2")
    assert ("In both, with different content (1)" in shown, "1 segment belongs to both" in shown) == (True, True)
    assert '<td class="number">20</td><td class="number">23</td>' in shown


@pytest.mark.usefixtures("four")
def test_who_may_only_read_previews_and_is_refused(viewer: Client, world: ServingWorld) -> None:
    assert "Needs the right" in text(viewer, f"{HISTORY}1/restore/")
    assert viewer.post(f"{HISTORY}1/restore/", {"reason": "x"}).status_code == 403
    assert (world.visible, viewer.get(f"{HISTORY}9/restore/").status_code) == (["d"], 404)


@pytest.mark.usefixtures("four")
def test_a_page_takes_few_statements(operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_max_num_queries(30):
        text(operator)


@pytest.mark.usefixtures("four")
def test_a_snapshot_is_pinned_and_unpinned_from_the_history_and_leads_back_there(operator: Client) -> None:
    address = f"/console/tables/{TYPED}/lineage/to-c/pin/?snapshot=3"
    assert f'href="{address}"' in text(operator)
    assert "Pin snapshot 3" in text(operator, address)
    done = operator.post(address, {"reason": "for the audit", "snapshot": "3"})
    assert done["Location"] == f"{HISTORY}?page=1#snapshot-3"
    shown = text(operator)
    assert ("Snapshot 3 is pinned." in shown, f'href="{address.replace("pin/?", "unpin/?")}"' in shown) == (True, True)


def test_who_pins_one_of_several_parts_of_a_snapshot_is_warned(
    world: ServingWorld, operator: Client, follow: Callable[[], None]
) -> None:
    world.upload("a", "x")
    follow()
    world.push("to-b", ["a"], ["b"])
    follow()
    assert "holds 1 of its 2 segments" in text(operator, f"/console/tables/{TYPED}/lineage/to-b/pin/?snapshot=2")
    assert "of its 2 segments" not in text(operator, f"/console/tables/{TYPED}/lineage/to-b/pin/")


def test_a_session_is_linked_while_it_is_kept(viewer: Client, follow: Callable[[], None]) -> None:
    table = Table.objects.get(name=TYPED)
    session = make_session(table)
    make_snapshot(1, TYPED, cluster=table.cluster, kind="switch", session=session.session_id)
    assert f'/ingestion/sessions/{session.session_id}/">its session' in text(viewer)
    session.delete()
    assert "its session" not in text(viewer)


def test_who_switched_in_spite_of_failed_checks_stands_next_to_who_pushed(
    operator: Client, world: ServingWorld
) -> None:
    make_table(TYPED)
    decided = {"decided_by": "ben", "decision": "<b>holiday"}
    make_snapshot(1, TYPED, kind="switch", actor="ann", reason="daily", checks="overridden", **decided)
    shown = text(operator)
    assert "New data by ann: “daily”" in shown
    assert "switched in spite of failed checks</a> by ben: “&lt;b&gt;holiday”" in shown
