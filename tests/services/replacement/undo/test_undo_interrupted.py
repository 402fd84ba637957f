"""An undo that is cut, loses a reply or a race at any of its writes ends the same when it is requested again; queries
see nothing else.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from segments.clusters.embedded.segments.deletion_queue import read_queue
from segments.errors import PinotAdminError
from segments.services.replacement.protocol import revert_replace
from segments.services.replacement.undo.rollback import undo_rollback
from segments.services.segments import deletion
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan
from tests.services.replacement.undo.serving import ServingWorld
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


def rolled_back(folder: Path) -> ServingWorld:
    """a was replaced by b and c, that was rolled back; b is in the archive, c still waits for its deletion."""
    world = ServingWorld(folder)
    world.upload("a")
    world.push("e1", ["a"], ["b", "c"])
    revert_replace(world.ctx, TABLE, "e1", actor=ANN)
    deletion.drain(world.ctx, TABLE)
    assert read_queue(world.ctx, TABLE).items == {}
    world.now += 1000
    world.seen_during()
    return world


@pytest.mark.parametrize("kind", list(Fault), ids=lambda k: k.name)
def test_an_undo_that_is_interrupted_anywhere_ends_the_same_when_asked_again(tmp_path: Path, kind: Fault) -> None:
    probe = rolled_back(tmp_path / "probe")
    counting = FaultyStore(probe.memory)
    undo_rollback(probe.with_store(counting), TABLE, "e1", actor=ANN)
    assert probe.visible == ["b", "c"]
    for number in range(1, len(counting.writes) + 1):
        world = rolled_back(tmp_path / f"{kind.name}-{number}")
        faulty = FaultyStore(world.memory, Plan({number: kind}))
        with contextlib.suppress(Cut, PinotAdminError):
            undo_rollback(world.with_store(faulty), TABLE, "e1", actor=ANN)
        for _ in range(3):
            world.now += 60_000
            if world.visible == ["a"]:
                with contextlib.suppress(PinotAdminError):
                    undo_rollback(world.ctx, TABLE, "e1", actor=ANN)
        world.now += 60_000
        world.clean()
        assert (world.visible, world.files) == (["b", "c"], ["a", "b", "c"]), (number, counting.writes[number - 1])
        assert world.seen_during() == [("a",), ("b", "c")], (number, counting.writes[number - 1])
        assert read_queue(world.ctx, TABLE).items == {}
