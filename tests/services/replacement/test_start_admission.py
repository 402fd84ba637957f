"""The quota is checked when a push starts, against all that it says it will bring (rule `declared-size-fits`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.domain.tables.table_config import parse_table_config
from segments.errors import Forbidden, InvalidInput
from segments.services.replacement.checks.snapshot_checks import ChecksFailed, run_checks
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.protocol import end_replace, start_replace
from segments.services.replacement.start_admission import DECLARED_BYTES, declare
from segments.store import paths
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db


def world_of(folder: Path, quota: str | None = "1000", replication: int = 2) -> World:
    """Two visible segments of 100 bytes each."""
    world = World(folder)
    body = {
        "tableName": "t",
        "tableType": "OFFLINE",
        "segmentsConfig": {"replication": str(replication)},
        "quota": {"storage": quota},
        "ingestionConfig": {"batchIngestionConfig": {"segmentIngestionType": "REFRESH"}},
    }
    node = world.memory.get(paths.table_config(TABLE.typed))
    assert node is not None
    world.memory.replace(paths.table_config(TABLE.typed), parse_table_config(body).to_record(), node.version)
    return world.upload("a", "b")


def start(world: World, name: str, size: int, *, old: tuple[str, ...] = ("a", "b"), force: bool = False) -> str:
    return start_replace(world.ctx, TABLE, old, [name], actor=ANN, force_cleanup=force, custom_map=declare(size, 10))


def test_a_push_that_cannot_fit_is_refused_at_its_start_with_figures(tmp_path: Path) -> None:
    """Fails on the original's behaviour: there start never checks it, and the push dies at some upload."""
    world = world_of(tmp_path)
    with pytest.raises(
        Forbidden, match=r"200 bytes are stored, 0 promised .* 801 declared; 1001 in all, quota.storage allows 1000"
    ) as no:
        start(world, "n", 801)
    assert no.value.status == 403
    assert "2002 of 2000 bytes with 2 copies" in str(no.value)
    assert no.value.data["storedBytes"] == 200
    assert not observe(world.ctx, TABLE).lineage.entries


def test_what_just_fits_starts_and_is_remembered(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    entry = start(world, "n", 800)
    notes = observe(world.ctx, TABLE).lineage.entry(entry).notes
    assert (notes["declared.bytes"], notes["declared.rows"]) == ("800", "10")


def test_two_pushes_do_not_share_one_room_and_what_is_uploaded_counts_once(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    start(world, "n1", 500, old=())
    with pytest.raises(Forbidden, match=r"500 promised"):
        start(world, "n2", 301, old=())
    world.upload("n1")  # 100 of the 500 bytes are there now
    start(world, "n2", 300, old=())


def test_what_a_forced_start_clears_is_free(tmp_path: Path) -> None:
    world = world_of(tmp_path, quota="400")
    start(world, "n1", 200)
    world.upload("n1")
    with pytest.raises(Forbidden):
        start(world, "n2", 200, old=())
    start(world, "n2", 200, force=True)


def test_without_a_quota_every_start_is_accepted(tmp_path: Path) -> None:
    start(world_of(tmp_path, quota=None), "n", 10**15)


def test_a_start_that_declares_nothing_is_refused_on_a_table_over_its_quota(tmp_path: Path) -> None:
    """Each of its uploads would be refused; what takes segments out without bringing any is what helps,
    so that starts.
    """
    world = world_of(tmp_path, quota="199")
    with pytest.raises(
        Forbidden, match=r"200 bytes are stored, 0 promised to other pushes, 0 declared; .* quota.storage allows 199"
    ):
        start_replace(world.ctx, TABLE, ["a", "b"], ["n"], actor=ANN, custom_map={"somebody": "else's"})
    assert not observe(world.ctx, TABLE).lineage.entries
    start_replace(world.ctx, TABLE, ["a"], [], actor=ANN)


def test_a_start_that_declares_nothing_is_accepted_on_a_table_within_its_quota(tmp_path: Path) -> None:
    start_replace(world_of(tmp_path, quota="200").ctx, TABLE, ["a", "b"], ["n"], actor=ANN)


@pytest.mark.parametrize("text", ["-1", "1.5", "many", "", "9" * 19])
def test_a_declaration_that_is_no_number_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput, match=DECLARED_BYTES):
        start_replace(world_of(tmp_path).ctx, TABLE, ["a"], ["n"], actor=ANN, custom_map={DECLARED_BYTES: text})


def test_rows_that_the_start_declared_are_counted_before_the_switch(tmp_path: Path) -> None:
    """A segment of ten rows where eleven were declared is not switched to; its client, or a person, may correct or
    override it.
    """
    world = world_of(tmp_path)
    short, whole, narrowed = (start_replace(world.ctx, TABLE, [], [n], actor=ANN, custom_map=declare(1, r)) for n, r in
                              (("c", 11), ("d", 10), ("e", 11)))  # fmt: skip
    world.upload("c", "d", "e")
    with pytest.raises(ChecksFailed, match="measured 10 rows, allowed 11 rows, as declared at the start"):
        end_replace(world.ctx, TABLE, short, actor=ANN)
    assert (run_checks(world.ctx, TABLE, short, actor=ANN).status, world.state(short)) == ("blocked", "IN_PROGRESS")
    end_replace(world.ctx, TABLE, whole, actor=ANN)
    end_replace(
        world.ctx, TABLE, narrowed, segments_to=["e"], actor=ANN
    )  # fewer than were declared is what its client wants
    end_replace(world.ctx, TABLE, short, actor=ANN, override="one row was a test")
    assert [world.state(e) for e in (short, whole, narrowed)] == ["COMPLETED"] * 3
