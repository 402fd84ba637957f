"""Unfinished replacements on a Pinot cluster: leases as on our own, starts that lost their answer, notes of entries
that are gone.
"""

from __future__ import annotations

import pytest

from segments.clusters.pinot.replacement.start_records import all_intents
from segments.domain.replacement.lineage import noted_entries
from segments.services.replacement import entry_reaper
from segments.services.replacement.entry_lease import heartbeat
from segments.services.replacement.pins import pin_entry
from segments.services.replacement.protocol import start_replace
from segments.services.upkeep import validation
from segments.store import paths
from tests.faults.faulty import Cut
from tests.pinot_cluster.fake_pinot import Fault, PinotCluster
from tests.pinot_cluster.replacement.test_replacement import replaced, started
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

MINUTE = 60_000


def test_a_heartbeat_writes_nothing_into_pinots_lineage(pinot: PinotCluster) -> None:
    entry = started(pinot, ["a"], ["b"])
    before = pinot.inside.memory.exists(paths.lineage(TABLE.typed))
    heartbeat(pinot.ctx, TABLE, entry, ANN)
    assert pinot.inside.memory.exists(paths.lineage(TABLE.typed)) == before


def test_a_start_whose_process_died_before_it_heard_the_id_is_found_and_reverted(pinot: PinotCluster) -> None:
    pinot.rest.faults[1] = Fault.CUT_AFTER
    with pytest.raises(Cut):
        start_replace(pinot.ctx, TABLE, ["a"], ["b"], actor=ANN)
    ctx = pinot.connect()
    assert entry_reaper.run(ctx, TABLE) == []
    pinot.inside.now += 6 * MINUTE
    assert "nobody knows its id" in entry_reaper.run(ctx, TABLE)[0]
    assert pinot.entries() == [(("a",), ("b",), "REVERTED")]


def test_records_of_entries_that_pinot_has_dropped_go(pinot: PinotCluster) -> None:
    entry = replaced(pinot, ["a"], ["b"])
    pin_entry(pinot.ctx, TABLE, entry, ANN)
    pinot.inside.memory.delete(paths.lineage(TABLE.typed))
    validation.run(pinot.ctx, TABLE)
    node = pinot.ctx.store.get(paths.entry_notes(TABLE.typed))
    assert noted_entries(node.record if node else None) == set()
    assert all_intents(pinot.ctx, TABLE) == []
