"""Pushes from creation to their end: what becomes visible, what failures leave behind, and who may work on one."""

from __future__ import annotations

import gzip
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from segments.domain.push.push_plan import Part
from segments.domain.tables.schema import parse_schema
from segments.errors import Conflict, Forbidden, InvalidInput, NotFound, StateConflict, Unavailable
from segments.gateways.deep_store.deepstore import STAGING
from segments.models import AuditEvent, Push
from segments.services.jobs.queue import ATTEMPTS
from segments.services.push.push_run import MAX_ATTEMPTS, run_push
from segments.services.push.push_session import acquire
from segments.services.push.pushes import create_push, resume_lost
from segments.services.segments import deletion
from segments.store import paths
from tests.push.pushing import SCHEMA, PushWorld
from tests.services.world import ANN, TABLE
from tests.task_queue import FakeQueue

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path) -> PushWorld:
    made = PushWorld(tmp_path)
    made.file("a.csv", "Rom,1,17000", "Bern,2,17001")
    made.file("b.csv", "Paris,3,17002")
    return made


def staged(world: PushWorld) -> list[str]:
    return world.ctx.deep_store.folders(STAGING)


def test_a_file_that_was_replaced_since_it_was_listed_is_read_as_it_is(world: PushWorld) -> None:
    push = world.create()
    world.file("b.csv", "Paris,3,17002", "Paris,4,17002")
    assert (world.run(push).state, push.rows, push.error) == (Push.State.DONE, 4, "")
    assert [f["size"] for f in push.plan["files"]] == [f.stat().st_size for f in sorted(world.folder.iterdir())]
    assert len(world.visible) == 2


def test_a_file_that_changes_each_time_it_is_read_fails_the_push_by_name_after_three_reads(world: PushWorld) -> None:
    reads = list[int]()

    def write_again(part: Part) -> None:
        if part.ordinal == 1:
            reads.append(1)
            world.file("b.csv", *["Paris,3,17002"] * (len(reads) + 1))

    world.builder.before = write_again
    push = world.run(world.create())
    assert (push.state, len(reads)) == (Push.State.FAILED, 3)
    assert "b.csv' changed while it was read" in push.error
    assert "It was read 3 times, and changed each time." in push.error
    assert (staged(world), world.visible) == ([], [])


def test_a_replaced_file_whose_rows_are_in_several_segments_fails_the_push(world: PushWorld) -> None:
    world.builder.before = lambda part: world.file("b.csv", "Paris,5,17002", "Rom,6,17002") and None
    push = world.run(world.create(executionFrameworkSpec={"extraConfigs": {"segmentTargetRows": 2}}))
    assert (push.state, "b.csv' changed while it was read" in push.error) == (Push.State.FAILED, True)
    assert world.visible == []


def test_a_refused_switch_is_taken_back(world: PushWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.upload("old")

    def refuse(*_: Any, **__: Any) -> None:
        raise StateConflict("No.", remedy="Ask again.")

    monkeypatch.setattr("segments.services.push.push_run.end_replace", refuse)
    push = world.run(world.create())
    assert (push.state, push.error) == (Push.State.FAILED, "No. Ask again.")
    assert world.state(push.entry_id) == "REVERTED"
    deletion.drain(world.serve().ctx, TABLE)
    assert (world.visible, world.ideal, world.files) == (["old"], ["old"], ["old"])


def test_a_second_runner_is_refused_while_the_lease_lives(world: PushWorld) -> None:
    push = world.create()

    def rival(_: Part) -> None:
        with pytest.raises(StateConflict, match="being worked on by me"):
            world.run(push, "rival")

    world.builder.before = rival
    assert world.run(push).state == Push.State.DONE
    assert world.run(push).attempts == 1
    assert "finished already" in world.sentence


def test_a_renewed_lease_is_not_given_to_another(world: PushWorld) -> None:
    push = world.create()
    session = acquire(world.ctx, str(push.pk), "me")
    assert session is not None
    world.now += 15_000
    session.renew()
    world.now += 15_000
    with pytest.raises(StateConflict, match="being worked on by me"):
        acquire(world.ctx, str(push.pk), "rival")
    world.now += 6_000
    assert acquire(world.ctx, str(push.pk), "rival") is not None
    session.renew()
    assert session.is_lost
    with pytest.raises(Conflict):
        session.update(rows=1)


def test_a_lost_part_of_the_system_leaves_the_push_for_another_attempt(world: PushWorld) -> None:
    push, queued = world.create(), []
    ctx = replace(world.ctx, queue=FakeQueue(work=queued.append))

    def die(part: Part) -> None:
        if part.ordinal == 1:
            raise Unavailable("The JVM died.")

    world.builder.before = die
    assert world.run(push).state == Push.State.RUNNING
    assert resume_lost(ctx) == []
    world.now += 5_000
    sentences = resume_lost(ctx)
    assert queued == [str(push.pk)]
    assert "its worker was lost at building segments" in sentences[0]
    assert resume_lost(ctx) == []
    world.builder.before = lambda part: None
    assert world.run(push).state == Push.State.DONE
    assert world.builder.builds == [0, 1]


def test_tasks_that_a_long_wait_left_in_the_queue_use_up_no_attempt(world: PushWorld) -> None:
    push, queue = world.create(), FakeQueue()
    for _ in range(MAX_ATTEMPTS + 1):
        world.now += 61_000
        resume_lost(replace(world.ctx, queue=queue))

    def die(_: Part) -> None:
        raise Unavailable("The JVM died.")

    world.builder.before = die
    for (_, (push_id,)), hints in zip(queue.sent, queue.hints, strict=True):
        world.now += 5_000
        with suppress(StateConflict):
            run_push(world.ctx, str(push_id), "me", builder=world.builder, attempts=int(hints[ATTEMPTS]))
    push.refresh_from_db()
    assert (len(queue.sent), push.state, push.attempts) == (MAX_ATTEMPTS + 1, Push.State.RUNNING, 1)
    resume_lost(replace(world.ctx, queue=queue))
    assert (queue.sent[-1][1], queue.hints[-1]) == ([str(push.pk)], {ATTEMPTS: "1"})


def test_a_push_that_never_gets_through_is_taken_back_after_some_attempts(world: PushWorld) -> None:
    world.upload("old")
    push = world.create()

    def die(_: Part) -> None:
        raise Unavailable("The JVM died.")

    world.builder.before = die
    for _ in range(MAX_ATTEMPTS + 1):
        world.run(push)
        world.now += 30_000
    assert push.state == Push.State.FAILED
    assert push.error == f"Given up after {MAX_ATTEMPTS} attempts. The JVM died."
    assert (world.visible, staged(world)) == (["old"], [])


def test_a_queued_push_that_no_worker_took_is_queued_again_soon_and_then_every_minute(world: PushWorld) -> None:
    push, queued = world.create(), []
    ctx = replace(world.ctx, queue=FakeQueue(work=queued.append))
    assert resume_lost(ctx) == []
    for seconds, times in ((19, 0), (2, 1), (58, 1), (3, 2)):
        world.now += seconds * 1000
        found = resume_lost(ctx)
        assert all("no worker had taken it up" in sentence for sentence in found)
        assert queued == [str(push.pk)] * times, seconds


def test_an_append_table_keeps_what_it_has(tmp_path: Path) -> None:
    world = PushWorld(tmp_path, batch={"segmentIngestionType": "APPEND", "consistentDataPush": False})
    world.upload("old")
    world.file("a.csv", "Rom,1,17000")
    by_name = {"segmentNameGeneratorSpec": {"type": "simple"}}
    assert world.run(world.create(**by_name)).state == Push.State.DONE
    assert world.visible == ["old", "t_OFFLINE_17000_17000_0"]
    world.file("a.csv", "Rom,1,17000", "Rom,2,17000")
    world.now += 1000
    again = create_push(world.ctx, world.spec(**by_name), ANN, roots=[str(world.folder)], overwrite=True)
    assert world.run(again).state == Push.State.DONE
    assert world.visible == ["old", "t_OFFLINE_17000_17000_0"]
    assert world.files == ["old", "t_OFFLINE_17000_17000_0"]


def test_an_atomic_append_appears_through_an_entry_with_an_empty_old_side(tmp_path: Path) -> None:
    world = PushWorld(tmp_path, batch={"segmentIngestionType": "APPEND", "consistentDataPush": False})
    world.upload("old")
    world.file("a.csv", "Rom,1,17000")
    push = world.run(world.create(executionFrameworkSpec={"extraConfigs": {"atomicAppend": "true"}}))
    assert (push.state, world.state(push.entry_id)) == (Push.State.DONE, "COMPLETED")
    assert world.visible == ["old", push.segments.get().name]


def test_segments_can_be_cut_by_rows_across_files(world: PushWorld) -> None:
    world.file("c.csv", *(f"Oslo,{i},17000" for i in range(5)))
    push = world.run(world.create(executionFrameworkSpec={"extraConfigs": {"segmentTargetRows": 3}}))
    assert (push.state, push.rows, push.files_done) == (Push.State.DONE, 8, 3)
    assert [s.rows for s in push.segments.all()] == [3, 3, 2]


@pytest.mark.parametrize(("is_local", "names"), [("false", ["_0", "_1"]), ("true", ["_0", "_0"])])
def test_sequence_ids_within_each_folder_are_for_names_that_differ_otherwise(
    world: PushWorld, is_local: str, names: list[str]
) -> None:
    for name in ("a.csv", "b.csv"):
        (world.folder / name).unlink()
    world.file("2009/a.csv", "Rom,1,17000")
    world.file("2010/a.csv", "Bern,2,17001")
    naming = {"configs": {"local.directory.sequence.id": is_local}}
    push = world.run(world.create(segmentNameGeneratorSpec=naming))
    assert push.state == Push.State.DONE, "their times are part of the names"
    assert [s.name[-2:] for s in push.segments.all()] == names
    alike = {"configs": {**naming["configs"], "exclude.time.in.segment.name": "true"}}
    second = world.run(world.create(segmentNameGeneratorSpec=alike))
    assert second.state == (Push.State.FAILED if is_local == "true" else Push.State.DONE)
    assert ("Two input files give segment name" in second.error) == (is_local == "true")


def test_a_bad_row_in_a_cut_file_is_found_on_its_own_line(world: PushWorld) -> None:
    world.file("c.csv", *(f"Oslo,{i},17000" for i in range(4)), "Oslo,x,17000")
    push = world.run(world.create(executionFrameworkSpec={"extraConfigs": {"segmentTargetRows": 3}}))
    assert "c.csv' line 6: Column 'n'" in push.error


def test_a_file_that_is_too_large_for_a_segment_becomes_several(
    world: PushWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("push_run", "pushes"):
        monkeypatch.setattr(f"segments.services.push.{module}.MOST_BYTES", 2000)
    world.file("c.csv", *(f"Oslo,{i},17000" for i in range(500)), "Oslo,x,17000")
    push = world.run(world.create())
    assert "c.csv' line 502: Column 'n'" in push.error
    world.file("c.csv", *(f"Oslo,{i},17000" for i in range(500)))
    push = world.run(world.create())
    assert (push.state, push.rows, push.files_done) == (Push.State.DONE, 503, 3)
    assert push.segments.count() == 2 + 8


def test_gzip_is_known_by_its_first_bytes(world: PushWorld) -> None:
    path = world.folder / "a.csv"
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert world.run(world.create()).rows == 3


def test_a_push_of_a_table_that_is_being_replaced_is_refused(world: PushWorld) -> None:
    push = world.create()
    with pytest.raises(StateConflict, match=str(push.pk)):
        world.create()


def test_only_configured_roots_are_read_also_through_links(world: PushWorld, tmp_path: Path) -> None:
    (world.folder / "out").symlink_to(tmp_path / "store")
    for place in (str(tmp_path), str(world.folder / "out"), str(world.folder / ".."), "/etc"):
        with pytest.raises(Forbidden, match=str(world.folder)):
            world.create(inputDirURI=place)
    (world.folder / "secret.csv").symlink_to("/etc/passwd")
    assert world.create().files_total == 2


def test_nothing_found_names_the_folder_and_both_patterns(world: PushWorld) -> None:
    with pytest.raises(
        NotFound, match=r"in/?' with includeFileNamePattern glob:\*\*/\*\.json and excludeFileNamePattern glob:\*\*/x"
    ):
        world.create(includeFileNamePattern="glob:**/*.json", excludeFileNamePattern="glob:**/x")
    assert not Push.objects.exists()


def test_a_storage_quota_is_checked_before_anything_is_registered(tmp_path: Path) -> None:
    world = PushWorld(tmp_path, quota={"storage": "300B"})
    world.upload("old")
    world.file("a.csv", "Rom,1,17000")
    push = world.run(world.create())
    assert push.state == Push.State.FAILED
    assert "quota" in push.error
    assert world.ideal == ["old"]


def test_a_csv_without_one_known_column_is_refused(world: PushWorld) -> None:
    world.file("c.csv", "1;2;3", header="city;n;day")
    assert "line 1: no column of its header" in world.run(world.create()).error


@pytest.mark.parametrize(
    ("header", "row", "missing"), [("city,n", "Rom,1", "'day'"), ("day,other", "19000,1", "'city', 'n'")]
)
def test_a_missing_column_fails_the_push_by_file_and_name(
    world: PushWorld, header: str, row: str, missing: str
) -> None:
    world.file("c.csv", row, header=header)
    assert f"c.csv' line 1: there is no column {missing} of schema 't'" in world.run(world.create()).error


def test_a_column_that_no_json_line_or_parquet_file_has_fails_too(world: PushWorld) -> None:
    (world.folder / "c.json").write_text('{"city": "Rom", "day": 19000}\n')
    job = {"includeFileNamePattern": "glob:**/*.json", "recordReaderSpec": {"dataFormat": "json"}}
    assert "c.json': there is no column 'n'" in world.run(world.create(**job)).error
    (world.folder / "c.json").write_text('{"city": "Rom", "n": null, "day": 19000}\n{"city": "Bari", "day": 19000}\n')
    assert world.run(world.create(**job)).state == "DONE"
    pq.write_table(pa.table({"city": ["Rom"], "day": [19000]}), world.folder / "c.parquet")
    job = {"includeFileNamePattern": "glob:**/*.parquet", "recordReaderSpec": {"dataFormat": "parquet"}}
    assert "c.parquet': there is no column 'n'" in world.run(world.create(**job)).error


def test_a_missing_column_with_a_default_of_its_own_is_filled(world: PushWorld) -> None:
    node = world.memory.get(paths.schema("t"))
    assert node is not None
    fields = [SCHEMA["dimensionFieldSpecs"][0], {"name": "n", "dataType": "INT", "defaultNullValue": 7}]
    world.memory.replace(
        paths.schema("t"), parse_schema({**SCHEMA, "dimensionFieldSpecs": fields}).to_record(), node.version
    )
    world.file("c.csv", "Rom,19000", header="city,day")
    assert world.run(world.create()).state == "DONE"


def test_a_row_of_another_length_is_named_by_its_line(world: PushWorld) -> None:
    world.file("c.csv", "Rom,1,17000", '"two\nlines",1,17000', "Rom,1")
    assert "c.csv' line 5:" in world.run(world.create()).error


def test_a_push_to_an_unknown_table_is_not_stored(world: PushWorld) -> None:
    with pytest.raises(NotFound):
        world.create(tableSpec={"tableName": "nope"})
    with pytest.raises(InvalidInput):
        create_push(world.ctx, "jobType: [", ANN, roots=[])
    assert not Push.objects.exists()


def test_begin_and_end_are_audited_with_actor_and_reason(world: PushWorld) -> None:
    push = world.run(world.create())
    events = AuditEvent.objects.filter(action__in=("push", "pushEnd")).order_by("id")
    assert [(e.action, e.actor, e.reason, e.detail["push"]) for e in events] == [
        ("push", "ann", "because", str(push.pk)),
        ("pushEnd", "ann", "because", str(push.pk)),
    ]


def test_a_push_computes_columns_and_drops_rows_as_the_table_says(tmp_path: Path) -> None:
    ingestion = {
        "transformConfigs": [
            {"columnName": "day", "transformFunction": "toEpochDays(ms)"},
            {"columnName": "n", "transformFunction": "a + 1"},
        ],
        "filterConfig": {"filterFunction": "kind = 'test'"},
        "batchIngestionConfig": {"segmentIngestionType": "REFRESH", "consistentDataPush": True},
    }
    world = PushWorld(tmp_path, ingestionConfig=ingestion)
    world.file(
        "a.csv", "Rom,1468800000000,1,x", "Bern,1468886400000,2,test", "Oslo,1468886400000,3,", header="city,ms,a,kind"
    )
    push = world.run(world.create())
    assert (push.state, push.error, push.rows) == (Push.State.DONE, "", 2)
    assert world.visible == [f"t_OFFLINE_17000_17001_{world.now}_0"]


def test_nested_values_of_json_files_reach_the_functions(tmp_path: Path) -> None:
    transforms = {"n": "jsonPathLong(body, '$.items[0].n')", "city": "jsonFormat(body)"}
    listed = [{"columnName": c, "transformFunction": t} for c, t in transforms.items()]
    world = PushWorld(tmp_path, ingestionConfig={"transformConfigs": listed})
    lines = ['{"day": 17000, "body": {"items": [{"n": 7}]}}', '{"day": 17001, "body": {"other": 1}}']
    (world.folder / "a.json").write_text("\n".join(lines))
    push = world.run(world.create(recordReaderSpec={"dataFormat": "json"}))
    assert (push.state, push.error, push.rows) == (Push.State.DONE, "", 2)


def test_a_function_that_is_not_there_is_refused_before_the_push_begins(tmp_path: Path) -> None:
    groovy = {"transformConfigs": [{"columnName": "n", "transformFunction": "Groovy({a + 1}, a)"}]}
    world = PushWorld(tmp_path, ingestionConfig=groovy)
    world.file("a.csv", "Rom,1,17000")
    with pytest.raises(InvalidInput, match="The transform of column 'n': Function 'Groovy' is not supported"):
        world.create()
    assert not Push.objects.exists()


def test_a_value_that_an_expression_does_not_take_is_named_with_its_line(tmp_path: Path) -> None:
    world = PushWorld(
        tmp_path,
        ingestionConfig={"transformConfigs": [{"columnName": "day", "transformFunction": "fromDateTime(d, 'yyyy')"}]},
    )
    world.file("a.csv", "Rom,1,2023", "Bern,2,soon", header="city,n,d")
    push = world.run(world.create())
    assert push.state == Push.State.FAILED
    assert "a.csv' line 3: Column 'day': the expression does not take the value 'soon'" in push.error
