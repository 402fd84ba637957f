"""Write-audit-publish: checks on the hidden new side decide whether an end may switch (rule `checked-before-switch`).
Real segments, servers and queries.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segments.dataplane.broker import DetachedBroker
from segments.domain.replacement.lineage import State
from segments.errors import InvalidInput, NotFound, PreconditionFailed, StateConflict
from segments.models import AuditEvent
from segments.names import TableName
from segments.services.core.context import Actor, Context, Limits
from segments.services.replacement.checks import check_settings, snapshot_checks
from segments.services.replacement.protocol import end_replace, read_lineage, revert_replace, start_replace
from segments.store import paths
from tests.dataplane.world import TABLE, World, poll
from tests.services.embedded_engine import engine_of, reading, unreadable

pytestmark = pytest.mark.django_db
T = TableName("t", "OFFLINE")
ANN = Actor("ann", "nightly")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """One server, table t with the visible segment ``old`` of 10 rows (v = old, n = 0..9)."""
    made = World(tmp_path)
    made.create_table()
    made.start_server(1)
    made.push(["old"], rows=10)
    yield made
    made.close()


@pytest.fixture
def ctx(world: World) -> Context:
    """Use cases over the world's state."""
    gateway = world.gateway()

    def clock() -> int:
        return int(time.time() * 1000)

    ids = iter(f"e{n}" for n in range(1, 100))
    return Context(
        "test",
        world.store,
        world.deep_store,
        clock,
        lambda: next(ids),
        "http://127.0.0.1:1",
        engine_of(gateway, lambda table: DetachedBroker(world.store, gateway, clock, table)),
        Limits(broker_ack_s=0.2),
    )


def require(ctx: Context, *checks: dict[str, Any], **more: Any) -> None:
    """Make these the table's checks."""
    check_settings.write_check_document(ctx, T, {"checks": list(checks), **more}, actor=ANN)


def open_entry(
    world: World, ctx: Context, name: str = "new", rows: int = 5, old: str = "old", value: str | None = None
) -> str:
    """An entry whose new side is online and hidden."""
    entry = start_replace(ctx, T, [old], [name], actor=ANN)
    world.record(name, world.build(name, rows, value))
    world.assign([name])
    poll(lambda: "ONLINE" in world.states(name).values(), what=f"{name} online")
    return entry


def state(ctx: Context, entry: str) -> str:
    lineage = read_lineage(ctx, T)
    assert lineage is not None
    return lineage.entry(entry).state.value


HALF = {"kind": "rowCount", "minRatio": 0.8}


def test_pinot_switches_to_half_of_the_rows_without_a_word(world: World, ctx: Context) -> None:
    """Fails on the original's behaviour: there end checks nothing and switches."""
    require(ctx, HALF)
    entry = open_entry(world, ctx, rows=5)
    with pytest.raises(PreconditionFailed, match=r"measured 5 rows, 10 are replaced, allowed from 8 rows") as refused:
        end_replace(ctx, T, entry, actor=ANN)
    assert refused.value.status == 412
    assert "overrideChecks" in refused.value.remedy
    assert refused.value.data["checks"][0]["name"] == "rowCount"
    assert state(ctx, entry) == "IN_PROGRESS"
    with DetachedBroker(world.store, world.gateway(), ctx.clock, TABLE) as broker:
        assert broker.query("select v, count(*) from t group by v")["resultTable"]["rows"] == [["old", 10]]
    report = snapshot_checks.read_checks(ctx, T, entry)
    assert report is not None
    assert (report.status, report.segments, report.override) == ("blocked", 1, "")
    assert snapshot_checks.is_blocked(ctx, T, entry)


def test_an_override_switches_is_audited_and_recorded(world: World, ctx: Context) -> None:
    require(ctx, HALF)
    entry = open_entry(world, ctx, rows=5)
    end_replace(ctx, T, entry, actor=ANN, override="half a day is right on holidays")
    assert state(ctx, entry) == "COMPLETED"
    report = snapshot_checks.read_checks(ctx, T, entry)
    assert report is not None
    assert (report.status, report.override, report.actor) == ("overridden", "half a day is right on holidays", "ann")
    event = AuditEvent.objects.get(action="overrideChecks")
    assert (event.actor, event.reason, event.detail["entry"]) == ("ann", "half a day is right on holidays", entry)
    assert "measured 5 rows" in event.detail["checks"][0]


def test_enough_rows_switch_and_an_override_of_nothing_is_no_override(world: World, ctx: Context) -> None:
    require(ctx, HALF)
    entry = open_entry(world, ctx, rows=9)
    end_replace(ctx, T, entry, actor=ANN, override="just in case")
    report = snapshot_checks.read_checks(ctx, T, entry)
    assert report is not None
    assert (report.status, report.override) == ("passed", "")
    assert not AuditEvent.objects.filter(action="overrideChecks").exists()


def test_a_warning_is_recorded_and_does_not_block(world: World, ctx: Context) -> None:
    require(ctx, {**HALF, "level": "warn"})
    entry = open_entry(world, ctx, rows=5)
    end_replace(ctx, T, entry, actor=ANN)
    report = snapshot_checks.read_checks(ctx, T, entry)
    assert report is not None
    assert (state(ctx, entry), report.status) == ("COMPLETED", "warned")


@pytest.mark.parametrize(
    ("check", "passes", "said"),
    [
        ({"kind": "rowCount", "min": 5, "max": 5}, True, "5 rows"),
        ({"kind": "rowCount", "max": 4}, False, "5 rows"),
        ({"kind": "nullShare", "column": "v", "max": 0}, True, "0 of 5"),
        ({"kind": "nullShare", "column": "n", "max": 0.1}, False, "0.2 (1 of 5 rows)"),
        ({"kind": "uniqueKey", "columns": ["n"]}, True, "no key twice"),
        ({"kind": "uniqueKey", "columns": ["v"]}, False, "(new) 5 times"),
        ({"kind": "sql", "sql": "select count(*) from t where n < 0", "expect": "= 0"}, True, "0"),
        ({"kind": "sql", "sql": "select max(n) from t", "expect": "between 5 and 9"}, False, "4"),
        ({"kind": "sql", "sql": "select v from t where n > 99", "expect": "= 'x'"}, False, "no row"),
    ],
)
def test_each_kind_reads_the_hidden_side_alone(
    world: World, ctx: Context, check: dict[str, Any], passes: bool, said: str
) -> None:
    require(ctx, check)
    entry = open_entry(world, ctx, rows=5)
    (outcome,) = snapshot_checks.run_checks(ctx, T, entry, actor=ANN).outcomes
    assert (outcome.passed, outcome.error) == (passes, "")
    assert said in outcome.measured


def test_what_cannot_be_measured_has_failed_with_the_reason(world: World, ctx: Context) -> None:
    require(ctx, {"kind": "sql", "sql": "select count(*) from t", "expect": ">= 0"})
    entry = open_entry(world, ctx)
    world.servers[1].stop()
    report = snapshot_checks.run_checks(ctx, T, entry, actor=ANN)
    assert report.status == "blocked"
    assert "no live server" in report.outcomes[0].error or "could not be read" in report.outcomes[0].error


def test_a_check_that_takes_too_long_blocks(world: World, ctx: Context) -> None:
    require(ctx, {"kind": "sql", "sql": "select count(*) from t", "expect": ">= 0"}, timeoutMs=100)
    entry = open_entry(world, ctx)

    class Slow:
        """Answers as the broker does when time is up."""

        def query(self, sql: str, options: Any = None, *, segments: Any = None) -> dict[str, Any]:
            assert options["timeoutMs"] == "100"
            return {
                "exceptions": [{"errorCode": 400, "message": "BrokerTimeoutError:\nTable 't' was not read in time."}]
            }

        def __enter__(self) -> Slow:
            return self

        def __exit__(self, *_: object) -> None:
            return None

    slow = reading(ctx, lambda table: Slow())
    with pytest.raises(
        PreconditionFailed, match="could not be measured: BrokerTimeoutError: Table 't' was not read in time"
    ):
        end_replace(slow, T, entry, actor=ANN)
    assert state(ctx, entry) == "IN_PROGRESS"


def test_a_process_without_readers_blocks_and_says_so(world: World, ctx: Context) -> None:
    require(ctx, HALF)
    entry = open_entry(world, ctx)
    with pytest.raises(PreconditionFailed, match="This process cannot read segments"):
        end_replace(reading(ctx, unreadable), T, entry, actor=ANN)


def test_a_document_that_somebody_else_damaged_blocks(world: World, ctx: Context) -> None:
    entry = open_entry(world, ctx)
    node = world.store.get(paths.table_config(TABLE))
    damaged = node.record.with_simple(metadata=json.dumps({"customConfigs": {"pinotadmin.checks": "{"}}))
    world.store.replace(paths.table_config(TABLE), damaged, node.version)
    with pytest.raises(PreconditionFailed, match="is not JSON"):
        end_replace(ctx, T, entry, actor=ANN)
    end_replace(ctx, T, entry, actor=ANN, override="known")
    assert state(ctx, entry) == "COMPLETED"


def test_an_upload_during_the_checks_makes_them_run_again(world: World, ctx: Context) -> None:
    require(ctx, {"kind": "rowCount", "min": 5})
    entry = open_entry(world, ctx, rows=5)
    opened: list[str] = []

    def snapshots(table: str) -> Any:
        opened.append(table)
        if len(opened) == 1:
            node = world.store.get(paths.segment(TABLE, "new"))
            world.store.replace(
                paths.segment(TABLE, "new"), node.record.with_simple(**{"segment.crc": "77"}), node.version
            )
        return ctx.engine.snapshots.open(ctx, table)

    snapshot_checks.run_checks(reading(ctx, snapshots), T, entry, actor=ANN)
    assert len(opened) == 2


class Sneaking:
    """A store on which another file comes in under a segment's name right before the first ``times`` switches."""

    def __init__(self, world: World, times: int) -> None:
        self.world, self.left = world, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self.world.store, name)

    def transaction(self, writes: Any) -> None:
        if self.left and any(w.path == paths.lineage(TABLE) for w in writes):
            self.left -= 1
            self.world.record("new", self.world.build("new", 1, f"file {self.left}"))
        self.world.store.transaction(writes)


def test_a_file_that_comes_in_between_check_and_switch_is_checked_too(world: World, ctx: Context) -> None:
    """Five rows were checked; the one row that came in since must not be switched to."""
    require(ctx, {"kind": "rowCount", "min": 5})
    entry = open_entry(world, ctx, rows=5)
    sneaking: Any = Sneaking(world, 1)
    with pytest.raises(snapshot_checks.ChecksFailed, match="measured 1 row"):
        end_replace(Context(**{**ctx.__dict__, "store": sneaking}), T, entry, actor=ANN)
    assert (sneaking.left, state(ctx, entry)) == (0, "IN_PROGRESS")


def test_an_end_gives_up_while_new_files_keep_coming_in(world: World, ctx: Context) -> None:
    require(ctx, {"kind": "rowCount", "min": 1})
    entry = open_entry(world, ctx, rows=5)
    with pytest.raises(PreconditionFailed, match="uploaded again while they were checked"):
        end_replace(Context(**{**ctx.__dict__, "store": Sneaking(world, 3)}), T, entry, actor=ANN)
    assert state(ctx, entry) == "IN_PROGRESS"


def test_a_preview_changes_nothing_and_never_replaces_the_result_of_a_switch(world: World, ctx: Context) -> None:
    require(ctx, HALF)
    entry = open_entry(world, ctx, rows=5)
    before = world.store.get(paths.lineage(TABLE)).version
    assert snapshot_checks.run_checks(ctx, T, entry, actor=ANN).preview
    kept = snapshot_checks.read_checks(ctx, T, entry)
    assert kept is not None
    assert kept.preview
    assert not snapshot_checks.is_blocked(ctx, T, entry)  # nobody tried to switch yet
    assert world.store.get(paths.lineage(TABLE)).version == before
    end_replace(ctx, T, entry, actor=ANN, override="ok")
    assert snapshot_checks.run_checks(ctx, T, entry, actor=ANN).status == "blocked"
    kept = snapshot_checks.read_checks(ctx, T, entry)
    assert kept is not None
    assert (kept.status, kept.preview) == ("overridden", False)


def test_results_of_entries_that_are_gone_go_with_the_next_result_and_reverted_ones_cannot_be_checked(
    world: World, ctx: Context
) -> None:
    require(ctx, HALF)
    entry = open_entry(world, ctx, rows=9)
    world.store.create(paths.check_report(TABLE, "long-gone"), world.store.get(paths.lineage(TABLE)).record)
    snapshot_checks.run_checks(ctx, T, entry, actor=ANN)
    assert world.store.children(paths.check_reports(TABLE)) == [entry]
    revert_replace(ctx, T, entry, force=True, actor=ANN)
    with pytest.raises(StateConflict, match=State.REVERTED.value):
        snapshot_checks.run_checks(ctx, T, entry, actor=ANN)
    with pytest.raises(NotFound):
        snapshot_checks.run_checks(ctx, T, "nobody", actor=ANN)


def test_without_checks_an_end_writes_reads_and_waits_for_nothing_more(world: World, ctx: Context) -> None:
    entry = open_entry(world, ctx, rows=1)
    config = check_settings.read_table_config(ctx, T)
    lineage = read_lineage(ctx, T)
    assert lineage is not None
    counted: list[str] = []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            counted.append(name)
            return getattr(world.store, name)

    quiet = Context(**{**ctx.__dict__, "store": Counting()})
    snapshot_checks.require_passed(quiet, T, lineage.entry(entry), override="", actor=ANN, config=config)
    assert counted == []
    began = time.thread_time()
    for _ in range(100):
        snapshot_checks.require_passed(quiet, T, lineage.entry(entry), override="", actor=ANN)
    assert (time.thread_time() - began) / 100 < 0.0005, "computing time: others may use the machine meanwhile"
    assert set(counted) == {"get"}
    assert snapshot_checks.read_checks(ctx, T, entry) is None


def test_the_document_is_read_back_as_written_and_other_settings_stay(world: World, ctx: Context) -> None:
    node = world.store.get(paths.table_config(TABLE))
    other = node.record.with_simple(metadata=json.dumps({"customConfigs": {"mine": "1"}}))
    world.store.replace(paths.table_config(TABLE), other, node.version)
    require(ctx, HALF)
    assert check_settings.read_check_document(ctx, T) == {"checks": [HALF], "timeoutMs": 60000}
    check_settings.write_check_document(ctx, T, {"checks": []}, actor=ANN)
    config = check_settings.read_table_config(ctx, T)
    assert config.body["metadata"] == {"customConfigs": {"mine": "1"}}


@pytest.mark.parametrize(
    ("check", "cause"),
    [
        ({"kind": "nullShare", "column": "nowhere", "max": 0}, "nowhere"),
        ({"kind": "time", "maxAge": "1d"}, "no time column"),
        ({"kind": "time", "column": "v", "maxAge": "1d"}, "not a date-time column"),
        ({"kind": "sql", "sql": "select count(*) from other", "expect": "= 0"}, "does not read table"),
        ({"kind": "sql", "sql": "select nowhere from t", "expect": "= 0"}, "nowhere"),
        ({"kind": "sql", "sql": "drop table t", "expect": "= 0"}, "cannot be run"),
    ],
)
def test_checks_that_do_not_fit_the_schema_are_refused_and_nothing_is_written(
    ctx: Context, check: dict[str, Any], cause: str
) -> None:
    with pytest.raises(InvalidInput, match=cause):
        require(ctx, check)
    assert check_settings.read_check_document(ctx, T)["checks"] == []
