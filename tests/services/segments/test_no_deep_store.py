"""What an installation without a deep store takes and what it refuses, and tables that servers cannot share among
themselves.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segments.errors import InvalidInput, StateConflict
from segments.gateways.deep_store.no_deep_store import NoDeepStore, open_deep_store
from segments.models import Finding
from segments.names import OFFLINE, TableName
from segments.services.core.context import Actor
from segments.services.push import pushes as push
from segments.services.realtime import realtime_validation
from segments.services.segments import deletion, restore
from segments.services.tables import tables
from segments.services.upkeep import validation
from segments.store import paths
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld, config_of

pytestmark = pytest.mark.django_db
PEERS = {"peerSegmentDownloadScheme": "http"}


def without(folder: Path, **config: Any) -> RealtimeWorld:
    """An installation without a deep store."""
    world = RealtimeWorld(folder, create=False)
    world.ctx = replace(world.ctx, deep_store=NoDeepStore())
    return world.create(**config) if config else world


def test_a_realtime_table_needs_servers_that_can_fetch_from_one_another(tmp_path: Path) -> None:
    world = without(tmp_path)
    with pytest.raises(InvalidInput, match=r"no deep store.*needs 'peerSegmentDownloadScheme'"):
        world.create()
    world.streams.topics["a"] = {0: [0, 0]}
    world.create(segments=PEERS)


def test_what_needs_a_deep_store_is_refused_and_says_so(tmp_path: Path) -> None:
    world = without(tmp_path, segments=PEERS)
    ask = (
        lambda: push.create_push(world.ctx, {}, ANN, roots=[]),
        lambda: restore.restore_segments(world.ctx, TABLE, ["s"], actor=ANN),
        lambda: world.ctx.deep_store.put(tmp_path / "any", "t/s"),
    )
    for attempt in ask:
        with pytest.raises(StateConflict, match="no deep store"):
            attempt()
    assert realtime_validation.keep_copies(world.ctx, TABLE) == [
        f"Segments of {TABLE} stay on servers: this installation has no deep store."
    ]


def test_segments_that_only_servers_have_are_deleted_for_good_and_only_by_force(tmp_path: Path) -> None:
    world = without(tmp_path, segments=PEERS)
    first = world.consuming[0]
    world.done(first, "10").set_row(first, "ONLINE").set_record(first, segment_download_url="", segment_crc="5")
    outcome = deletion.delete_segments(world.ctx, TABLE, [first], actor=ANN)[0]
    assert (outcome.outcome, "this installation has none" in outcome.message) == ("refused", True)
    with pytest.raises(StateConflict, match="this installation has none"):
        tables.delete_table(world.ctx, TABLE, actor=ANN)
    deletion.delete_segments(world.ctx, TABLE, [first], force=True, actor=Actor("ann", "not needed"))
    deletion.drain(world.ctx, TABLE)
    assert first not in world.ideal.maps
    tables.delete_table(world.ctx, TABLE, force=True, actor=Actor("ann", "not needed"))
    assert world.memory.exists(paths.table_config(TABLE.typed)) is None


def test_tables_that_were_there_before_are_findings(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, segments={"peerSegmentDownloadScheme": "http"})
    path = paths.table_config(TABLE.typed)
    none, both = NoDeepStore(), {"peer-scheme", "no-place"}
    for scheme, store, codes in (
        ("http", none, set()),
        ("https", world.ctx.deep_store, {"peer-scheme"}),
        ("https", none, both),
    ):
        node = world.memory.get(path)
        assert node is not None
        assert node.record is not None
        text = node.record.simple["segmentsConfig"]
        world.memory.replace(
            path, node.record.with_simple(segmentsConfig=text.replace('"http"', f'"{scheme}"')), node.version
        )
        validation.run(replace(world.ctx, deep_store=store), TABLE)
        assert (
            set(Finding.objects.filter(closed_at=None).values_list("code", flat=True)) & {"peer-scheme", "no-place"}
            == codes
        )


def test_https_between_servers_is_refused_with_what_to_do_at_creation_and_change(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    config = config_of(segments={"peerSegmentDownloadScheme": "HTTPS"})
    with pytest.raises(InvalidInput, match=r"do not speak TLS.*Use http"):
        tables.update_table(world.ctx, "t", config, actor=ANN)
    offline = {
        "tableName": "t",
        "tableType": "OFFLINE",
        "segmentsConfig": {**config["segmentsConfig"], "replication": "2"},
    }
    with pytest.raises(InvalidInput, match="do not speak TLS"):
        tables.create_table(world.ctx, {**offline, "tenants": {}, "tableIndexConfig": {}, "metadata": {}}, actor=ANN)
    assert world.memory.exists(paths.table_config(TableName("t", OFFLINE).typed)) is None


def test_none_is_no_address(tmp_path: Path) -> None:
    assert not open_deep_store("None").exists
    assert open_deep_store("none").below("x").folders("y") == []
    assert open_deep_store(f"file://{tmp_path}").exists
