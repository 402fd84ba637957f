"""A rollback over several entries of a real Pinot that stopped half-way: its page says so, and it is carried on or
given up from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from segments import wiring
from segments.clusters.pinot import calls as pinot_calls
from segments.models import AuditEvent, Cluster, LineageEntry
from segments.services.replacement.rollback import roll_back
from tests.console.conftest import logged_in
from tests.factories import make_entry, make_table
from tests.faults.faulty import Cut
from tests.pinot_cluster.fake_pinot import Fault, PinotCluster
from tests.pinot_cluster.replacement.test_replacement import replaced
from tests.services.world import ANN, TABLE, World

BASE = f"/console/c/prod/tables/{TABLE.typed}/"
CURRENT = f"/clusters/prod/api/v1/lineage/{TABLE.typed}/rollback/current"


@pytest.fixture
def stopped(world: World, tmp_path: Path, db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[PinotCluster]:
    """a was replaced by b, b by c, c by d; a rollback to before the first was cut after one step."""
    monkeypatch.setattr(pinot_calls, "_PAUSE_S", 0.0)
    pinot = PinotCluster(tmp_path / "prod")
    pinot.inside.upload("a")
    table = make_table(
        TABLE.typed, cluster=Cluster.objects.create(name="prod", kind="pinot", state="up", version="1.5.1")
    )
    entries = [replaced(pinot, [old], [new]) for old, new in (("a", "b"), ("b", "c"), ("c", "d"))]
    for entry in entries:
        make_entry(table, entry)
    pinot.rest.faults[len(pinot.rest.changes) + 2] = Fault.CUT_BEFORE
    with pytest.raises(Cut):
        roll_back(pinot.ctx, TABLE, entries[0], actor=ANN)
    pinot.connect()
    with wiring.use_cluster(pinot.ctx):
        yield pinot


def test_the_lineage_says_how_far_it_is_and_it_is_carried_on(operator: Client, stopped: PinotCluster) -> None:
    assert "1 of 3 replacements are taken back" in operator.get(f"{BASE}lineage/").content.decode()
    assert "Entries that are left (2)" in operator.get(f"{BASE}rollback/carry-on/").content.decode()
    done = operator.post(f"{BASE}rollback/carry-on/", {"reason": "go on"})
    assert (done.status_code, done["Location"]) == (302, f"{BASE}lineage/")
    assert stopped.visible == ["a"]
    assert "A rollback is under way" not in operator.get(f"{BASE}lineage/").content.decode()
    assert operator.post(f"{BASE}rollback/carry-on/", {"reason": "again"}).status_code == 404


def test_a_preview_says_what_pinot_itself_does_and_promises_nothing_else(
    operator: Client, stopped: PinotCluster
) -> None:
    first = LineageEntry.objects.order_by("id").first()
    assert first is not None
    text = operator.get(f"{BASE}lineage/{first.entry_id}/rollback-to/").content.decode()
    assert "What Pinot itself does" in text
    assert "for moments queries see each of the" in text
    assert "in one switch" not in text
    assert "restore them from the tab Deleted" not in text
    single = operator.get(f"{BASE}lineage/{first.entry_id}/rollback/").content.decode()
    assert single.count("What Pinot itself does") == 1


def test_it_is_given_up_where_it_is(operator: Client, stopped: PinotCluster) -> None:
    assert operator.post(f"{BASE}rollback/give-up/", {"reason": "good enough"}).status_code == 302
    assert stopped.visible == ["c"]
    event = AuditEvent.objects.order_by("-id").first()
    assert event is not None
    assert (event.actor, event.cluster, event.reason) == ("olga", "prod", "good enough")


def test_over_rest_too(stopped: PinotCluster) -> None:
    root = logged_in("root", is_superuser=True)
    found = root.get(CURRENT).json()
    assert (found["state"], len(found["reverted"]), len(found["left"])) == ("RUNNING", 1, 2)
    assert root.delete(CURRENT).json()["state"] != "RUNNING"
    assert root.delete(CURRENT).status_code == 404
    assert root.get(f"/api/v1/lineage/{TABLE.typed}/rollback/current").status_code == 404


def test_who_may_not_operate_sees_it_and_presses_nothing(viewer: Client, stopped: PinotCluster) -> None:
    text = viewer.get(f"{BASE}lineage/").content.decode()
    assert "A rollback is under way" in text
    assert "Carry on now" not in text
    assert viewer.post(f"{BASE}rollback/carry-on/", {"reason": "x"}).status_code == 403
