"""A second push destroys nothing: names of its own where none were given, else a refusal that names what it would
replace.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.clusters.pinot import push as pinot_push
from segments.domain.push.offered_spec import offered_spec
from segments.domain.push.push_spec import parse_spec
from segments.domain.tables.table_config import parse_table_config
from segments.errors import StateConflict
from segments.models import Cluster, Push
from segments.services.push.push_run import run_push
from segments.services.push.pushes import create_push
from segments.services.segments import archive
from segments.services.segments.restore import restore_segments
from segments.store import paths
from segments.store.update import update_record
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.push.pushing import LocalBuilder, PushWorld, config
from tests.services.segments.kinds import keep_copies
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db
APPEND = {"segmentIngestionType": "APPEND", "consistentDataPush": False}
FIXED = {"segmentNameGeneratorSpec": {"type": "fixed", "configs": {"segment.name": "t_all"}}}
BY_TIME = {"segmentNameGeneratorSpec": {"type": "simple"}}


@pytest.fixture
def world(tmp_path: Path) -> PushWorld:
    """An APPEND table without a time column, as it is made of a name only."""
    made = PushWorld(tmp_path, batch=APPEND, segmentsConfig={"replication": "1"})
    made.file("a.csv", "Rom,1,17000", "Bern,2,17001")
    return made


def push(world: PushWorld, *, overwrite: bool = False, **more: object) -> Push:
    return world.run(create_push(world.ctx, world.spec(**more), ANN, roots=[str(world.folder)], overwrite=overwrite))


def rows(world: PushWorld) -> int:
    nodes = [world.memory.get(paths.segment(TABLE.typed, s)) for s in world.visible]
    return sum(int(n.record.simple["segment.total.docs"]) for n in nodes if n and n.record)


@pytest.mark.parametrize("segments", [{"replication": "1"}, {"replication": "1", "timeColumnName": "day"}])
def test_two_pushes_with_the_offered_specification_add_their_rows_even_within_a_millisecond(
    tmp_path: Path, segments: object
) -> None:
    body = config(batch=APPEND, segmentsConfig=segments)
    world = PushWorld(tmp_path, batch=APPEND, segmentsConfig=segments)
    world.file("a.csv", "Rom,1,17000", "Bern,2,17001")
    text = offered_spec(parse_table_config(body), "t", str(world.folder))
    for _ in range(2):
        done = world.run(create_push(world.ctx, text, ANN, roots=[str(world.folder)]))
        assert (done.state, done.error) == ("DONE", "")
        assert str(done.pk)[:8] in done.segments.get().name
    assert (rows(world), len(world.visible)) == (4, 2)


def test_a_push_that_would_replace_by_name_is_refused_with_names_and_rows_before_anything_changes(
    world: PushWorld,
) -> None:
    assert push(world, **FIXED).state == "DONE"
    with pytest.raises(
        StateConflict, match=r"replace 1 segment of table 't_OFFLINE' by name: 't_all' \(2 rows now\)"
    ) as refused:
        world.create(**FIXED)
    assert (refused.value.data["segments"], refused.value.data["rowsBefore"]) == (["t_all"], 2)
    assert "overwrite=true" in refused.value.remedy
    assert Push.objects.count() == 1


def test_with_overwrite_it_replaces_and_the_old_rows_can_come_back(world: PushWorld) -> None:
    push(world, **FIXED)
    world.file("a.csv", "Rom,1,17000")
    assert push(world, overwrite=True, **FIXED).state == "DONE"
    assert rows(world) == 1
    (kept,), _ = archive.list_kept(world.ctx, TABLE)
    assert (kept.why, kept.kept and kept.kept.metadata.total_docs) == ("replaced", 2)
    assert restore_segments(world.ctx, TABLE, ["t_all"], overwrite=True, actor=ANN)[0].outcome == "done"
    assert rows(world) == 2


def test_names_that_hold_times_are_decided_when_it_is_built_and_it_fails_with_both_numbers(tmp_path: Path) -> None:
    world = PushWorld(tmp_path, batch=APPEND)
    world.file("a.csv", "Rom,1,17000", "Bern,2,17000")
    push(world, **BY_TIME)
    world.file("a.csv", "Rom,1,17000")
    failed = push(world, **BY_TIME)
    assert (failed.state, "'t_OFFLINE_17000_17000_0' (2 rows now, 1 after)" in failed.error) == ("FAILED", True)
    assert (rows(world), world.files) == (2, ["t_OFFLINE_17000_17000_0"])
    assert archive.list_kept(world.ctx, TABLE) == ([], 0)


def test_a_name_that_somebody_takes_right_before_the_registration_is_not_replaced(world: PushWorld) -> None:
    made = create_push(world.ctx, world.spec(**FIXED), ANN, roots=[str(world.folder)])
    inner = world.ctx.store

    class Late:
        """Somebody else's segment of that name comes in right before our transaction."""

        done = False

        def __getattr__(self, name: str) -> object:
            return getattr(inner, name)

        def transaction(self, writes: list[object]) -> None:
            if not self.done and any("t_all" in str(getattr(w, "path", "")) for w in writes):
                Late.done = True
                world.upload("t_all")
            inner.transaction(writes)  # type: ignore[arg-type]

    world.ctx = world.with_store(Late())  # type: ignore[arg-type]
    failed = world.run(made)
    assert (failed.state, "(10 rows now, 2 after)" in failed.error) == ("FAILED", True)
    assert rows(world) == 10


def test_on_a_pinot_cluster_it_is_refused_too_and_a_copy_is_kept_where_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pinot_push, "_TOGETHER", 1)
    world = PushWorld(tmp_path / "pushes", batch=APPEND)
    pinot = PinotCluster(tmp_path, inside=world)
    world.file("a.csv", "Bern,1,19000", "Basel,2,19001")

    def run(overwrite: bool = False) -> Push:
        made = create_push(pinot.ctx, world.spec(**FIXED), ANN, roots=[str(world.folder)], overwrite=overwrite)
        world.now += 120_000
        run_push(pinot.ctx, str(made.pk), "me", builder=LocalBuilder())
        made.refresh_from_db()
        return made

    assert run().state == "DONE"
    with pytest.raises(StateConflict, match="would replace 1 segment"):
        run()
    keep_copies(pinot.inside)
    body = config(batch=APPEND, metadata={"customConfigs": {"pinotadmin.deletion.keepCopies": "true"}})
    update_record(world.memory, paths.table_config(TABLE.typed), lambda _: parse_table_config(body).to_record())
    Cluster.objects.create(name="prod", kind="pinot", deep_store_url=pinot.ctx.deep_store.url)
    world.file("a.csv", "Bern,1,19000")
    done = run(overwrite=True)
    assert (done.state, done.error) == ("DONE", "")
    (kept,), _ = archive.list_kept(pinot.ctx, TABLE)
    assert (kept.why, kept.kept and kept.kept.metadata.total_docs) == ("replaced", 2)


@pytest.mark.parametrize(
    ("batch", "kind", "word"),
    [
        (APPEND, None, "appends"),
        ({}, None, "in one switch that can be rolled back"),
        ({"consistentDataPush": False}, "simple", "refreshed by name"),
    ],
)
def test_the_offered_specification_is_the_one_for_the_table(
    batch: dict[str, object], kind: str | None, word: str
) -> None:
    text = offered_spec(parse_table_config(config(batch=batch)), "t", "/in")
    assert word in text
    assert parse_spec(text).name_type == kind
    assert parse_spec(offered_spec(None, "other", "/in")).table.raw == "other"
