"""The pages that undo a rollback: after it, in the lineage, when the entry is dropped, and what they promise."""

from __future__ import annotations

import pytest
from django.test import Client

from segments.clusters.embedded.replacement import switch_back
from segments.models import LineageEntry
from segments.services.replacement import protocol as replacement
from segments.services.replacement import rollback
from segments.services.segments import deletion
from segments.services.upkeep import retention
from tests.console.conftest import logged_in, seen
from tests.console.replacement.test_entry import LINEAGE
from tests.console.replacement.test_entry import servers as servers
from tests.console.replacement.test_entry import three as three
from tests.services.world import ANN, TABLE, World


@pytest.fixture(autouse=True)
def served(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers load what comes back before it is waited for."""
    wait = switch_back.wait_until_online
    monkeypatch.setattr(switch_back, "wait_until_online", lambda *a, **more: (world.serve(), wait(*a, **more)))


def text(client: Client, address: str) -> str:
    return client.get(address).content.decode()


def test_the_page_after_a_rollback_undoes_it_and_says_until_when(
    operator: Client, three: list[str], world: World
) -> None:
    before = text(operator, f"{LINEAGE}{three[2]}/rollback/")
    assert "until then this can be undone" in before
    assert "restore them from the tab Deleted" not in before
    replacement.revert_replace(world.ctx, TABLE, three[2], actor=ANN)
    after = text(operator, f"{LINEAGE}{three[2]}/rollback/")
    assert ("Undo the rollback…" in after, "while the deleted files are kept" in after) == (True, True)
    page = text(operator, f"{LINEAGE}{three[2]}/undo/")
    assert ("1 deleted segment comes back" in page, "Segments that come back (1)" in page) == (True, True)
    answer = operator.post(f"{LINEAGE}{three[2]}/undo/", {"reason": "it was right"}, follow=True)
    assert ("The rollback is undone" in answer.content.decode(), world.visible) == (True, ["d"])
    assert "Roll it back again" in answer.content.decode()


def test_several_steps_lead_to_one_undo_also_when_the_entries_are_dropped(
    operator: Client, three: list[str], world: World
) -> None:
    form = {"reason": "all wrong", "confirm": "t_OFFLINE", "seen": seen(operator, f"{LINEAGE}{three[0]}/rollback-to/")}
    said = operator.post(f"{LINEAGE}{three[0]}/rollback-to/", form, follow=True).content.decode()
    assert f'href="{LINEAGE}{three[0]}/undo/">Undo</a>' in said
    world.serve()
    deletion.drain(world.ctx, TABLE)
    retention.run(world.ctx, TABLE)

    LineageEntry.objects.all().delete()
    listed = text(operator, LINEAGE)
    assert ("Rollbacks that can be undone" in listed, f"{three[0]}</code> and 2 more" in listed) == (True, True)
    operator.post(f"{LINEAGE}{three[0]}/undo/", {"reason": "no, right"})
    assert world.visible == ["d"]
    assert "Rollbacks that can be undone" not in text(operator, LINEAGE)


def test_who_may_not_operate_sees_the_preview_only(viewer: Client, three: list[str], world: World) -> None:
    rollback.roll_back(world.ctx, TABLE, three[2], actor=ANN)
    assert "Needs the right <code>segments.operate</code>" in text(viewer, f"{LINEAGE}{three[2]}/undo/")
    assert viewer.post(f"{LINEAGE}{three[2]}/undo/", {"reason": "x"}).status_code == 403
    assert world.visible == ["c"]


def test_what_cannot_be_undone_says_why(operator: Client, three: list[str], world: World) -> None:
    replacement.revert_replace(world.ctx, TABLE, three[2], actor=ANN)
    replacement.start_replace(world.ctx, TABLE, ["c"], ["x"], actor=ANN)
    after = text(operator, f"{LINEAGE}{three[2]}/rollback/")
    assert ("It cannot be undone now." in after, "IN_PROGRESS" in after) == (True, True)
    assert operator.post(f"{LINEAGE}{three[2]}/undo/", {"reason": "x"}).status_code == 409
    assert operator.get(f"{LINEAGE}nothing/undo/").status_code == 404


def test_deleted_segments_of_a_rollback_are_offered_as_a_switch_with_its_numbers(
    three: list[str], world: World, db: None
) -> None:
    replacement.revert_replace(world.ctx, TABLE, three[2], actor=ANN)
    world.serve()
    deletion.drain(world.ctx, TABLE)
    admin = logged_in("ada", is_superuser=True)
    address = "/console/tables/t_OFFLINE/deleted/restore/?s=d"
    page = text(admin, address)
    assert ("Show 1 instead of 1" in page, "old and new rows together" in page) == (True, True)
    answer = admin.post(address, {"s": "d", "reason": "wanted", "confirm": "restore 1"}, follow=True)
    assert ("instead of 1." in answer.content.decode(), world.visible) == (True, ["d"])
