"""After a change a page waits for the mirror, so that what it shows is what queries see, but never for long."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import connection

from segments.console import mirror_wait
from segments.domain.replacement.lineage import State
from segments.models import LineageEntry
from segments.services.replacement.protocol import revert_replace, start_replace
from tests.factories import make_entry, make_table
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_page_comes_when_the_mirror_has_the_new_state(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror_wait, "LONGEST_S", 10.0)
    start_replace(world.ctx, TABLE, [], ["b"], actor=ANN, entry_id="e1")
    table = make_table(TABLE.typed)
    row = make_entry(table, "e1", state=State.IN_PROGRESS.value)
    assert mirror_wait.wait_for_mirror(world.ctx, table)
    revert_replace(world.ctx, TABLE, "e1", force=True, actor=ANN)

    def revert() -> None:
        LineageEntry.objects.filter(pk=row.pk).update(state="REVERTED")
        connection.close()  # this thread's own

    began, late = time.monotonic(), threading.Timer(0.2, revert)
    late.start()
    assert mirror_wait.wait_for_mirror(world.ctx, table)
    late.join()
    assert 0.15 < time.monotonic() - began < 5


def test_a_mirror_that_stands_still_is_not_waited_for_longer_than_configured(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror_wait, "LONGEST_S", 0.2)
    start_replace(world.ctx, TABLE, [], ["b"], actor=ANN, entry_id="e1")
    assert not mirror_wait.wait_for_mirror(world.ctx, make_table(TABLE.typed))
