"""A session whose switch the table's checks refuse, on every kind of cluster: blocked with its rows hidden, then
switched with a reason, checked again, cancelled, or carried on because its entry was ended elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from segments.domain.ingestion.session import SessionState
from segments.domain.replacement.lineage import State
from segments.domain.segments import segment_metadata
from segments.errors import NotFound, StateConflict
from segments.gateways.deep_store.deepstore import STAGING
from segments.services.core.context import Actor
from segments.services.ingestion import sessions
from segments.services.ingestion.blocked_switch import finish_blocked
from segments.services.replacement.checks import check_settings
from segments.services.replacement.protocol import end_replace, revert_replace
from segments.store import paths
from tests.ingestion.test_every_kind import Ingesting
from tests.services.embedded_engine import reading
from tests.services.segments.kinds import EMBEDDED, KINDS, SimulatedKind, kind_of
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db
BEN = Actor("ben", "on call")


class Counting:
    """Answers ``count(*)`` from the segments' records."""

    def __init__(self, kind: SimulatedKind) -> None:
        self._kind = kind

    def query(
        self, sql: str, options: Mapping[str, str] | None = None, *, segments: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """As ``SnapshotReader.query``."""
        nodes = self._kind.inside.memory.get_many([paths.segment(TABLE.typed, s) for s in segments or ()])
        rows = sum(segment_metadata.from_record(n.record).total_docs or 0 for n in nodes if n and n.record)
        return {"resultTable": {"rows": [[rows]]}, "exceptions": []}


def require_rows(world: Ingesting, least: int) -> None:
    check = {"kind": "rowCount", "min": least}
    check_settings.write_check_document(world.ctx, world.table, {"checks": [check]}, actor=ANN)


@pytest.fixture(params=KINDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Ingesting:
    """A swap of three rows, where 1000 are required, is blocked."""
    kind = kind_of(request.param, tmp_path)

    @contextmanager
    def counting(_: str) -> Iterator[Counting]:
        yield Counting(kind)

    if request.param == EMBEDDED:
        kind.ctx = reading(kind.ctx, counting)
    found = Ingesting(kind, tmp_path, {"consistentPushSwapEnabled": "true"})
    require_rows(found, 1000)
    found.put("a.csv", "Rom,1,17000", "Bern,2,17001", "Kiel,3,17001")
    found.go()
    return found


def finish(world: Ingesting, override: str = "") -> None:
    world.kind.later()
    finish_blocked(world.ctx, world.table, world.session.id, override, BEN)
    world.work()


def test_the_session_waits_in_switch_with_what_the_checks_found(world: Ingesting) -> None:
    session = world.session
    assert (session.state, session.blocked, session.task) == (SessionState.SWITCH, True, "")
    assert "measured 3 rows" in session.error
    assert (world.kind.visible, world.entries) == (["old"], [State.IN_PROGRESS])
    assert sessions.resume_lost(world.ctx) == []


def test_with_a_reason_it_switches_and_the_audit_names_who_decided(world: Ingesting) -> None:
    finish(world, "a quiet day")
    session = world.session
    assert (session.state, session.blocked, session.error) == (SessionState.DONE, False, "")
    assert (session.override, session.override_by, session.retry_count) == ("a quiet day", "ben", 0)
    assert "old" not in world.kind.visible
    assert len(world.builder.builds) == 1
    overridden = [(e.actor, e.reason) for e in world.kind.events if e.action == "overrideChecks"]
    assert overridden == [("ben", "a quiet day")]
    with pytest.raises(StateConflict, match="is not blocked"):
        finish_blocked(world.ctx, world.table, session.id, "again", BEN)


def test_without_a_reason_the_checks_decide_again(world: Ingesting) -> None:
    finish(world)
    assert (world.session.blocked, world.kind.visible) == (True, ["old"])
    require_rows(world, 3)
    finish(world)
    assert (world.session.state, world.session.retry_count) == (SessionState.DONE, 0)
    assert len(world.builder.builds) == 1


def test_a_trigger_tries_the_switch_again_as_a_retry(world: Ingesting) -> None:
    require_rows(world, 3)
    world.go()
    assert (world.session.state, world.session.retry_count) == (SessionState.DONE, 1)
    assert len(world.builder.builds) == 1


def test_cancelled_it_leaves_nothing(world: Ingesting) -> None:
    sessions.cancel(world.ctx, world.table, BEN)
    assert (world.session.end_reason, world.session.blocked) == ("CANCELLED", False)
    assert world.kind.visible == ["old"]
    assert State.IN_PROGRESS not in world.entries
    assert world.ctx.deep_store.folders(STAGING) == []
    with pytest.raises(StateConflict):
        finish_blocked(world.ctx, world.table, world.session.id, "again", BEN)


def test_an_entry_that_was_ended_elsewhere_ends_the_session(world: Ingesting) -> None:
    end_replace(world.ctx, world.table, world.session.entry_id, actor=BEN, override="seen to")
    world.kind.later()
    [sentence] = sessions.resume_lost(world.ctx)
    assert "ended elsewhere" in sentence
    world.work()
    assert (world.session.state, world.session.retry_count) == (SessionState.DONE, 0)
    assert world.go() == "Nothing changed in the input folder since it was last ingested whole."


def test_an_entry_that_was_reverted_elsewhere_leaves_it_to_the_next_trigger(world: Ingesting) -> None:
    revert_replace(world.ctx, world.table, world.session.entry_id, force=True, actor=BEN)
    assert sessions.resume_lost(world.ctx) == []
    require_rows(world, 3)
    for _ in range(2):
        world.go()
    assert len(world.builder.builds) == 1
    if world.ctx.engine.lineage.owns_record:
        assert (world.session.state, "old" in world.kind.visible) == (SessionState.DONE, False)
    else:  # a Pinot goes on deleting what has the name of a segment that was taken back
        assert "was taken back" in world.session.error
        assert world.kind.visible == ["old"]


def test_a_session_that_is_not_there_is_named(world: Ingesting) -> None:
    with pytest.raises(NotFound, match="cp_1_0"):
        finish_blocked(world.ctx, world.table, "cp_1_0", "because", BEN)
