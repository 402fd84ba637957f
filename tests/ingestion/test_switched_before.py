"""A switch whose lineage entry is gone: queries see the new side, so it was switched, and the session is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.domain.ingestion.session import SessionState
from segments.domain.replacement.lineage import Lineage, to_record
from segments.domain.segments.ideal_state import without_rows
from segments.services.ingestion import sessions
from segments.store import paths
from tests.ingestion.ingesting import APPEND, SWAP, IngestionWorld
from tests.push.test_interruptions import Killed
from tests.services.world import TABLE

pytestmark = pytest.mark.django_db


def _dies(*_: object) -> None:
    raise Killed


def forget_lineage(world: IngestionWorld) -> None:
    """As retention does with a completed entry that replaced nothing, or whose old side is gone."""
    path = paths.lineage(TABLE.typed)
    node = world.memory.get(path)
    assert node is not None
    world.memory.replace(path, to_record(Lineage(TABLE.typed, {})), node.version)


@pytest.fixture(params=[APPEND, SWAP], ids=["append", "swap"])
def switched(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IngestionWorld:
    """The process died between the switch and the record of it."""
    world = IngestionWorld(tmp_path, request.param)
    world.put("F1", 10)
    world.trigger()
    with monkeypatch.context() as patched:
        patched.setattr("segments.services.ingestion.switch.finish", _dies)
        with pytest.raises(Killed):
            world.work()
    assert (world.session.state, world.vis) == (SessionState.SWITCH, 10)
    world.now += 60_000
    return world


def test_a_session_whose_entry_retention_removed_is_done_without_another_switch(switched: IngestionWorld) -> None:
    forget_lineage(switched)
    assert sessions.resume_lost(switched.ctx)
    switched.work(owner="next")
    assert (switched.session.state, switched.session.error, switched.vis) == (SessionState.DONE, "", 10)
    assert (switched.read, switched.session.retry_count) == (1, 0)
    switched.now += 600_000
    assert switched.trigger().session_id is None


def test_a_session_whose_entry_and_rows_are_gone_waits_for_the_next_trigger(switched: IngestionWorld) -> None:
    forget_lineage(switched)
    ideal = switched.memory.get(paths.ideal_state(TABLE.typed))
    assert ideal is not None
    assert ideal.record is not None
    empty = without_rows(ideal.record, list(ideal.record.maps))
    switched.memory.replace(paths.ideal_state(TABLE.typed), empty, ideal.version)
    assert sessions.resume_lost(switched.ctx)
    switched.work(owner="next")
    assert switched.session.state is SessionState.IN_PROGRESS
    assert "reverted by somebody else" in switched.session.error
