"""Cases of batch pushes that no other test shows whole: names, listings, two pushes at once, repeated uploads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.domain.push.push_plan import Part
from segments.domain.replacement.lineage import State
from segments.errors import InvalidInput, StateConflict
from segments.gateways.input_files.access import FileAccess
from segments.gateways.input_files.choice import Choice
from segments.gateways.input_files.source import input_source
from segments.models import Push
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.protocol import end_replace, start_replace
from tests.push.pushing import PushWorld
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path) -> PushWorld:
    made = PushWorld(tmp_path)
    made.file("a.csv", "Rom,1,17000", "Bern,2,17001")
    return made


def entries(world: PushWorld) -> dict[str, Any]:
    return dict(observe(world.ctx, TABLE).lineage.entries)


def test_the_flag_of_consistent_push_has_no_effect_on_a_table_that_adds(tmp_path: Path) -> None:
    world = PushWorld(tmp_path, batch={"segmentIngestionType": "APPEND", "consistentDataPush": True})
    world.file("a.csv", "Rom,1,17000")
    push = world.run(world.create(segmentNameGeneratorSpec={"type": "simple"}))
    assert (push.state, world.visible) == (Push.State.DONE, ["t_OFFLINE_17000_17000_0"])
    assert entries(world) == {}


@pytest.mark.parametrize("parallelism", [1, 5])
@pytest.mark.parametrize("is_batch", [True, False])
def test_five_files_into_an_empty_table_are_one_entry_with_an_empty_old_side(
    tmp_path: Path, parallelism: int, is_batch: bool
) -> None:
    world = PushWorld(tmp_path)
    for number in range(5):
        world.file(f"{number}.csv", *["Rom,1,17000"] * (number + 1))
    how = {"pushParallelism": parallelism, "batchSegmentUpload": is_batch}
    push = world.run(world.create(pushJobSpec=how, segmentCreationJobParallelism=parallelism))
    (entry,) = entries(world).values()
    assert (entry.segments_from, entry.state) == ((), State.COMPLETED)
    assert sorted(entry.segments_to) == world.visible == sorted(s.name for s in push.segments.all())
    assert (push.rows, len(world.visible)) == (15, 5)


@pytest.mark.parametrize("mode", ["Tar", "Uri", "Metadata"])
def test_every_push_mode_replaces_the_whole_table(world: PushWorld, mode: str) -> None:
    world.upload("old")
    push = world.run(world.create(jobType=f"SegmentCreationAnd{mode}Push"))
    assert (push.state, world.visible) == (Push.State.DONE, [s.name for s in push.segments.all()])


def test_of_two_jobs_on_one_table_the_later_start_wins(world: PushWorld) -> None:
    world.upload("old")
    first = start_replace(world.ctx, TABLE, ["old"], ["a"], force_cleanup=True, actor=ANN)
    world.upload("a")
    second = start_replace(world.ctx, TABLE, ["old"], ["b"], force_cleanup=True, actor=ANN)
    world.upload("b")
    assert (world.state(first), "a" in world.ideal) == ("REVERTED", False)
    with pytest.raises(StateConflict, match="REVERTED"):
        end_replace(world.ctx, TABLE, first, actor=ANN)
    end_replace(world.ctx, TABLE, second, actor=ANN)
    assert (world.state(second), world.visible) == ("COMPLETED", ["b"])


def test_a_name_with_a_space_is_the_same_in_the_lineage_and_in_the_table(world: PushWorld) -> None:
    naming = {"type": "normalizedDate", "configs": {"segment.name.prefix": "my seg"}}
    push = world.run(world.create(segmentNameGeneratorSpec=naming))
    (entry,) = entries(world).values()
    assert push.state == Push.State.DONE
    assert list(entry.segments_to) == world.visible
    assert world.visible[0].startswith("my seg_")


def test_a_task_that_runs_twice_stages_one_segment_and_changes_no_list(world: PushWorld) -> None:
    build = world.builder.build

    def twice(job: Any, parts: list[Part], on_built: Any, on_failed: Any) -> None:
        crcs = list[int]()
        for _ in range(2):
            build(job, parts, lambda found: (crcs.extend(b.crc for b in found), on_built(found))[1], on_failed)
        assert len(crcs) == 2
        assert len(set(crcs)) == 1

    world.builder.build = twice  # type: ignore[method-assign]
    push = world.run(world.create())
    (entry,) = entries(world).values()
    assert (push.state, push.rows, len(entry.segments_to)) == (Push.State.DONE, 2, 1)


@pytest.mark.parametrize(
    ("include", "exclude", "recursive", "found"),
    [
        ("**.csv", None, True, ["2009/input.csv", "2009/input2.csv", "input.csv"]),
        ("*.csv", None, False, ["input.csv"]),
        ("**.csv", "2009/input2.csv", True, ["2009/input.csv", "input.csv"]),
        ("**.json", "**.csv", True, []),
    ],
)
def test_patterns_choose_files_of_a_folder(
    tmp_path: Path, include: str, exclude: str | None, recursive: bool, found: list[str]
) -> None:
    for name in ("input.csv", "2009/input.csv", "2009/input2.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x\n1\n")
    choice = Choice(recursive, f"glob:{tmp_path}/{include}", f"glob:{tmp_path}/{exclude}" if exclude else None)
    source = input_source(FileAccess((str(tmp_path),)))
    listed = source.list(str(tmp_path), choice)
    assert [str(Path(f.path).relative_to(tmp_path)) for f in listed] == found
    if not found:
        refusal = choice.none_found(str(tmp_path))
        assert all(text in str(refusal) for text in (str(tmp_path), "**.json", "**.csv"))


def test_a_batch_upload_to_a_table_without_its_type_is_taken(world: PushWorld) -> None:
    push = world.run(world.create(pushJobSpec={"batchSegmentUpload": True}, tableSpec={"tableName": "t"}))
    assert (push.state, push.table_name) == (Push.State.DONE, "t")
    with pytest.raises(InvalidInput, match="REALTIME"):
        world.create(tableSpec={"tableName": "t_REALTIME"})
