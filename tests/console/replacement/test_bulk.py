"""Several segments or replacements at once: reload, reset, pin, unpin, each with a reason and, where there is one, the
way back.
"""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from segments.models import AuditEvent
from segments.services.replacement import protocol as replacement
from segments.services.replacement.lineage_record import observe
from tests.factories import make_entry, make_segments, make_table
from tests.services.world import ANN, TABLE, World

BASE = "/console/tables/t_OFFLINE"


@pytest.fixture
def entries(world: World, db: None) -> list[str]:
    """Two replacements, mirrored with their segments."""
    world.upload("a")
    table, found = make_table("t_OFFLINE"), []
    for old, new in (("a", "b"), ("b", "c")):
        world.now += 1000
        found.append(replacement.start_replace(world.ctx, TABLE, [old], [new], actor=ANN))
        world.upload(new)
        replacement.end_replace(world.ctx, TABLE, found[-1], actor=ANN)
        make_entry(table, found[-1], segments_from=[old], segments_to=[new])
    make_segments(table, "b", "c")
    return found


def pinned(world: World) -> set[str]:
    return {e.id for e in observe(world.ctx, TABLE).lineage.in_order() if e.is_pinned}


def test_several_replacements_are_pinned_and_unpinned_again_from_the_message(
    operator: Client, world: World, entries: list[str]
) -> None:
    text = operator.get(f"{BASE}/lineage/").content.decode()
    assert all(f'value="{e}"' in text for e in entries)
    assert "2 replacements" in operator.get(f"{BASE}/pin/", {"e": entries}).content.decode()
    answer = html.unescape(
        operator.post(f"{BASE}/pin/", {"e": entries, "reason": "audit"}, follow=True).content.decode()
    )
    assert pinned(world) == set(entries)
    assert "2 replacements are pinned." in answer
    undo = re.search(r'href="([^"]*/unpin/\?[^"]*)"', answer)
    assert undo
    assert "Unpin 2 replacements" in operator.get(undo[1]).content.decode()
    operator.post(f"{BASE}/unpin/", {"e": entries, "reason": "over"})
    assert pinned(world) == set()


def test_an_entry_that_does_not_exist_is_reported(operator: Client, world: World, entries: list[str]) -> None:
    answer = operator.post(f"{BASE}/pin/", {"e": ["nobody"], "reason": "audit"})
    assert answer.status_code == 404
    assert "nobody" in answer.content.decode()


@pytest.mark.parametrize("page", ["pin/", "unpin/", "reload/", "reset/"])
def test_nothing_chosen_is_reported(operator: Client, entries: list[str], page: str) -> None:
    answer = operator.get(f"{BASE}/{page}")
    assert answer.status_code == 400
    assert "Tick" in answer.content.decode()


@pytest.mark.parametrize(("page", "action"), [("reload/", "reloadSegments"), ("reset/", "resetSegment")])
def test_chosen_segments_are_loaded_again_or_start_over(
    operator: Client, entries: list[str], page: str, action: str
) -> None:
    text = operator.get(f"{BASE}/{page}", {"s": ["b", "c"]}).content.decode()
    assert "2 segments" in text
    assert operator.post(f"{BASE}/{page}", {"s": ["b", "c"], "reason": ""}).status_code == 422
    assert operator.post(f"{BASE}/{page}", {"s": ["b", "c"], "reason": "odd answers"}).status_code == 302
    events = AuditEvent.objects.filter(action=action, outcome="done")
    assert {e.reason for e in events} == {"odd answers"}
    assert len(events) == (1 if page == "reload/" else 2)


@pytest.mark.parametrize("page", ["pin/", "unpin/", "reload/", "reset/"])
def test_who_may_not_operate_changes_nothing(viewer: Client, world: World, entries: list[str], page: str) -> None:
    assert viewer.post(f"{BASE}/{page}", {"e": entries, "s": ["b"], "reason": "x"}).status_code == 403
    assert pinned(world) == set()
    assert AuditEvent.objects.filter(outcome="refused").count() == 1
    assert 'type="checkbox"' not in viewer.get(f"{BASE}/lineage/").content.decode()
    assert 'type="checkbox"' not in viewer.get(f"{BASE}/segments/").content.decode()
