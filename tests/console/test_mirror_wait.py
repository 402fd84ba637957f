"""After a change a page waits for the mirror, so that what it shows is what queries see, but never for long."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import connection

from segments.console import mirror_wait
from segments.domain.realtime.pause import PauseState, with_pause
from segments.domain.replacement.lineage import State
from segments.domain.tables.secret_masks import mask
from segments.models import LineageEntry, Table
from segments.services.replacement.protocol import revert_replace, start_replace
from segments.services.tables.stored_documents import config_body
from segments.store import paths
from tests.factories import make_entry, make_table
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_page_comes_when_the_mirror_has_the_new_state(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror_wait, "LONGEST_S", 10.0)
    start_replace(world.ctx, TABLE, [], ["b"], actor=ANN, entry_id="e1")
    table = make_table(TABLE.typed)
    row = make_entry(table, "e1", state=State.IN_PROGRESS.value)
    assert mirror_wait.wait_for_mirror(world.ctx, table, "lineage")
    revert_replace(world.ctx, TABLE, "e1", force=True, actor=ANN)

    def revert() -> None:
        LineageEntry.objects.filter(pk=row.pk).update(state="REVERTED")
        connection.close()  # this thread's own

    began, late = time.monotonic(), threading.Timer(0.2, revert)
    late.start()
    assert mirror_wait.wait_for_mirror(world.ctx, table, "lineage")
    late.join()
    assert 0.15 < time.monotonic() - began < 5


def test_a_mirror_that_stands_still_is_not_waited_for_longer_than_configured(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror_wait, "LONGEST_S", 0.2)
    start_replace(world.ctx, TABLE, [], ["b"], actor=ANN, entry_id="e1")
    assert not mirror_wait.wait_for_mirror(world.ctx, make_table(TABLE.typed), "history")


def test_the_page_after_a_change_of_the_config_comes_when_the_mirror_has_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror_wait, "LONGEST_S", 0.2)
    node = world.ctx.store.get(paths.table_config(TABLE.typed))
    assert node is not None
    assert node.record is not None
    table = make_table(TABLE.typed, config={"tableName": TABLE.typed})
    assert not mirror_wait.wait_for_mirror(world.ctx, table, "ingestion")
    Table.objects.filter(pk=table.pk).update(config=mask(config_body(node.record)))
    assert mirror_wait.wait_for_mirror(world.ctx, table, "config")


def test_the_page_after_a_pause_comes_when_the_mirror_has_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror_wait, "LONGEST_S", 0.2)
    path = paths.ideal_state(TABLE.typed)
    node = world.ctx.store.get(path)
    assert node is not None
    assert node.record is not None
    paused = PauseState(True, "ADMINISTRATIVE", "the topic moves", inactive_topics=(1,))
    world.ctx.store.replace(path, with_pause(node.record, paused), node.version)
    table = make_table(TABLE.typed)
    assert not mirror_wait.wait_for_mirror(world.ctx, table, "consumption")
    Table.objects.filter(pk=table.pk).update(pause=paused.to_json())
    assert mirror_wait.wait_for_mirror(world.ctx, table, "consumption")
