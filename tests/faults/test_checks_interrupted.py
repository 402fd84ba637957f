"""An end with checks, cut at every write: refused data is never visible, and doing it again ends the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from segments.domain.tables.schema import parse_schema
from segments.errors import PinotAdminError
from segments.services.replacement.checks import check_settings, snapshot_checks
from segments.services.replacement.protocol import end_replace, start_replace
from segments.store import paths
from segments.store.base import Store
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan
from tests.services.embedded_engine import reading
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db
SCHEMA = parse_schema({"schemaName": "t", "dimensionFieldSpecs": [{"name": "v", "dataType": "STRING"}]})


class Fixed:
    """Every segment has ten rows."""

    def query(
        self, sql: str, options: Mapping[str, str] | None = None, *, segments: Sequence[str] | None = None
    ) -> dict[str, Any]:
        return {"resultTable": {"rows": [[10 * len(segments or ())]]}, "exceptions": []}

    def __enter__(self) -> Fixed:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def prepare(folder: Path) -> World:
    """p1 and p2 are visible; n, half of their rows, is uploaded into the open entry e2 and at least 80 %
    are required.
    """
    world = World(folder)
    world.memory.create(paths.schema("t"), SCHEMA.to_record())
    start_replace(world.ctx, TABLE, [], ["p1", "p2"], actor=ANN, entry_id="e1")
    world.upload("p1", "p2")
    end_replace(world.ctx, TABLE, "e1", actor=ANN)
    check_settings.write_check_document(
        world.ctx, TABLE, {"checks": [{"kind": "rowCount", "minRatio": 0.8}]}, actor=ANN
    )
    start_replace(world.ctx, TABLE, ["p1", "p2"], ["n"], actor=ANN, entry_id="e2")
    return world.upload("n")


def end(world: World, store: Store, override: str) -> None:
    ctx = reading(world.with_store(store), lambda table: Fixed())
    end_replace(ctx, TABLE, "e2", actor=ANN, override=override)


@pytest.mark.parametrize("override", ["", "on purpose"])
@pytest.mark.parametrize("fault", list(Fault))
def test_cut_anywhere_and_done_again(tmp_path: Path, fault: Fault, override: str) -> None:
    probe = prepare(tmp_path / "probe")
    counting = FaultyStore(probe.memory)
    try:
        end(probe, counting, override)
    except snapshot_checks.ChecksFailed:
        assert not override
    assert len(counting.writes) == (2 if override else 1)
    for k in range(1, len(counting.writes) + 1):
        world = prepare(tmp_path / f"cut{k}")
        try:
            end(world, FaultyStore(world.memory, Plan({k: fault})), override)
        except (Cut, PinotAdminError):
            assert world.visible in (["p1", "p2"], ["n"] if override else ["p1", "p2"]), f"write {k}"
        try:
            end(world, world.memory, override)
        except snapshot_checks.ChecksFailed:
            assert not override
        assert world.visible == (["n"] if override else ["p1", "p2"]), f"write {k}"
        report = snapshot_checks.read_checks(world.ctx, TABLE, "e2")
        assert report is not None
        assert report.status == ("overridden" if override else "blocked")
