"""What people ask of a table with many thousands of segments is answered in seconds: no work for every pair of
segments.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from segments.domain.formats.znrecord import SIZE_LIMIT, ZNRecord, encode
from segments.domain.replacement.lineage import Entry, Lineage, State, to_record
from segments.domain.segments import admission
from segments.domain.segments.ideal_state import external_view, with_rows
from segments.domain.segments.pending_deletion import Pending
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.services.replacement.explain import explain_entry
from segments.services.replacement.protocol import start_replace
from segments.services.replacement.rollback import preview_rollback
from segments.services.replacement.rollback_preview import preview_revert
from segments.services.replacement.start_admission import DECLARED_BYTES
from segments.services.segments import deletion, restore
from segments.store import paths
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db

MANY = 10_000
OLD = [f"flights_2026-01-01_2026-01-02_{i}" for i in range(MANY)]
NEW = [f"{s}_1700000000000" for s in OLD]
#: Of this process alone, so that a busy machine makes no difference; work for every pair took more than 10.
SECONDS = 6.0


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Ten thousand segments were replaced by as many; all are served."""
    made, typed = World(tmp_path / "store"), TABLE.typed
    fields = {"segment.total.docs": "10", "segment.size.in.bytes": "100", "segment.crc": "1"}
    for name in (*OLD, *NEW):
        made.memory.create(paths.segment(typed, name), SegmentMetadata(name, fields).to_record())
    node = made.memory.get(paths.ideal_state(typed))
    assert node is not None
    assert node.record is not None
    ideal = with_rows(node.record, {s: {"Server_a_1": "ONLINE"} for s in (*OLD, *NEW)})
    made.memory.replace(paths.ideal_state(typed), ideal, node.version)
    made.memory.create(paths.external_view(typed), external_view(ideal, ideal.maps))
    entry = Entry("e1", tuple(OLD), tuple(NEW), State.COMPLETED, made.now)
    made.memory.create(paths.lineage(typed), to_record(Lineage(typed, {"e1": entry})))
    return made


def test_previews_explanations_and_refusals_of_ten_thousand_segments_take_seconds(world: World) -> None:
    began = time.process_time()
    preview = preview_revert(world.ctx, TABLE, "e1")
    assert (preview.allowed, preview.before.rows, len(preview.deleted_segments)) == (True, 10 * MANY, MANY)
    assert len(preview_rollback(world.ctx, TABLE, "e1").deleted_segments) == MANY
    assert explain_entry(world.ctx, TABLE, "e1").revert.reasons == ()
    outcomes = deletion.delete_segments(world.ctx, TABLE, OLD, actor=ANN)
    assert {o.outcome for o in outcomes} == {"refused"}
    assert {o.outcome for o in restore.restore_segments(world.ctx, TABLE, OLD, actor=ANN)} == {"refused"}
    lineage = Lineage(TABLE.typed, {"e": Entry("e", tuple(OLD), tuple(NEW), State.REVERTED, 1)})
    assert len(admission.check_not_hidden(lineage, NEW, set(NEW), began_ms=2, is_strict=False)) == MANY
    start_replace(world.ctx, TABLE, NEW, ["n"], custom_map={DECLARED_BYTES: "5"}, actor=ANN)
    assert time.process_time() - began < SECONDS


def test_the_record_of_fifty_thousand_pending_deletions_stays_below_zookeepers_limit() -> None:
    names = [f"flights_{19_000 + i % 365}_{19_001 + i % 365}_{i}_1700000000000" for i in range(50_000)]
    servers = [f"Server_10.0.0.{i}_8098" for i in range(10)]
    items = [
        Pending(s, 1_700_000_000_000, None, servers=(servers[i % 10], servers[i % 7])) for i, s in enumerate(names)
    ]
    assert len(encode(ZNRecord(TABLE.typed, maps={p.segment: p.to_map() for p in items}))) < SIZE_LIMIT
