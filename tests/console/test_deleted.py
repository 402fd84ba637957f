"""Bulk delete and restore of segments: preview, typed confirmation, the way back, the deletion queue."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from segments.models import AuditEvent, Segment
from segments.services.replacement import protocol as replacement
from segments.services.segments import deletion
from tests.console.conftest import logged_in
from tests.factories import make_segments, make_table
from tests.services.world import ANN, TABLE, World

BASE = "/console/tables/t_OFFLINE"


@pytest.fixture
def admin(db: None) -> Client:
    """May delete."""
    return logged_in("anna", "administer")


@pytest.fixture
def segments(world: World, db: None) -> World:
    """Five segments a_0 to a_4, mirrored."""
    names = [f"a_{n}" for n in range(5)]
    world.upload(*names)
    make_segments(make_table("t_OFFLINE"), *names)
    return world


def settle(world: World) -> None:
    """Servers let go, then the queue is carried out."""
    world.serve()
    deletion.drain(world.ctx, TABLE)


def test_chosen_segments_are_deleted_after_their_number_was_typed(admin: Client, segments: World) -> None:
    page = admin.get(f"{BASE}/delete/", {"s": ["a_0", "a_1"]})
    text = page.content.decode()
    rows = sum(Segment.objects.filter(name__in=["a_0", "a_1"]).values_list("total_docs", flat=True))
    assert rows > 0
    for words in ("2 of 2 selected segments leave t_OFFLINE", f"their {rows:,} rows", "delete 2", "can be restored"):
        assert words in text
    assert segments.ideal == [f"a_{n}" for n in range(5)]
    wrong = admin.post(f"{BASE}/delete/", {"s": ["a_0", "a_1"], "reason": "old", "confirm": "delete"})
    assert wrong.status_code == 422
    assert len(segments.ideal) == 5
    done = admin.post(f"{BASE}/delete/", {"s": ["a_0", "a_1"], "reason": "old", "confirm": "delete 2"})
    assert done.status_code == 302
    assert segments.ideal == ["a_2", "a_3", "a_4"]
    event = AuditEvent.objects.get(action="deleteSegments")
    assert (event.actor, event.reason, event.detail["count"]) == ("anna", "old", 2)


def test_the_message_of_a_deletion_leads_to_its_undo(admin: Client, segments: World) -> None:
    values = {"s": ["a_0", "a_1"], "reason": "old", "confirm": "delete 2"}
    message = admin.post(f"{BASE}/delete/", values, follow=True).content.decode()
    found = re.search(r'<a href="([^"]*restore[^"]*)">Restore them</a>', message)
    assert found
    settle(segments)
    address = found[1].replace("&amp;", "&")
    assert "2 of 2 selected segments are restored" in admin.get(address).content.decode()
    names = parse_qs(urlsplit(address).query)["s"]
    admin.post(f"{BASE}/deleted/restore/", {"s": names, "reason": "wrong ones", "confirm": "restore 2"})
    assert segments.ideal == [f"a_{n}" for n in range(5)]


def test_all_segments_that_a_filter_matches_can_be_deleted_at_once(admin: Client, segments: World) -> None:
    listed = admin.get(f"{BASE}/segments/", {"q": "a_"}).content.decode()
    assert "Delete all 5 that match" in listed
    text = admin.get(f"{BASE}/delete/", {"q": "a_", "all": "1"}).content.decode()
    assert text.count('name="s"') == 5
    assert admin.get(f"{BASE}/delete/", {"q": "zzz", "all": "1"}).status_code == 404


def test_segments_of_a_replacement_are_not_deleted_and_the_page_says_why(admin: Client, segments: World) -> None:
    replacement.start_replace(segments.ctx, TABLE, ["a_0"], ["b_0"], actor=ANN)
    text = admin.get(f"{BASE}/delete/", {"s": ["a_0", "a_1"]}).content.decode()
    assert "1 of 2 selected segments" in text
    assert "part of lineage entry" in text
    admin.post(f"{BASE}/delete/", {"s": ["a_0", "a_1"], "reason": "old", "confirm": "delete 1"})
    assert segments.ideal == ["a_0", "a_2", "a_3", "a_4"]
    assert (
        "None of the selected segments can be deleted" in admin.get(f"{BASE}/delete/", {"s": ["a_0"]}).content.decode()
    )


def test_nothing_chosen_is_reported(admin: Client, segments: World) -> None:
    answer = admin.get(f"{BASE}/delete/")
    assert answer.status_code == 400
    assert "Tick segments in the list first" in answer.content.decode()


def test_who_may_not_delete_sees_no_such_button_and_is_refused_with_an_audit_record(
    operator: Client, segments: World
) -> None:
    text = operator.get(f"{BASE}/segments/").content.decode()
    assert "Reload selected…" in text
    assert "Delete selected…" not in text
    answer = operator.post(f"{BASE}/delete/", {"s": ["a_0"], "reason": "old", "confirm": "delete 1"})
    assert answer.status_code == 403
    assert len(segments.ideal) == 5
    assert AuditEvent.objects.get(outcome="refused").action == "deleteSegments"
    assert "segments.administer" in operator.get(f"{BASE}/delete/", {"s": ["a_0"]}).content.decode()


def test_the_deleted_tab_lists_the_archive_and_the_queue_and_a_deletion_can_be_cancelled(
    admin: Client, segments: World
) -> None:
    deletion.delete_segments(segments.ctx, TABLE, ["a_0"], actor=ANN)
    text = admin.get(f"{BASE}/deleted/").content.decode()
    for words in ("Being deleted (1)", "waits for servers to drop it", "ann", "because"):
        assert words in text
    answer = admin.post(f"{BASE}/deleted/a_0/cancel/", {"reason": "no"}, follow=True)
    assert answer.status_code == 200
    assert "a_0" in segments.ideal
    deletion.delete_segments(segments.ctx, TABLE, ["a_1"], actor=ANN)
    settle(segments)
    text = admin.get(f"{BASE}/deleted/").content.decode()
    assert "Choose a_1" in text
    assert "Being deleted" not in text
    assert "Choose a_1" not in admin.get(f"{BASE}/deleted/", {"q": "b"}).content.decode()
