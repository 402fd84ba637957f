"""Segments that somebody adds between a push's listing of its table and its switch: reported, or a reason to fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.errors import InvalidInput
from segments.models import Push
from segments.services.push import push_run
from segments.services.push.push_document import push_document
from segments.services.push.pushes import create_push
from tests.push.pushing import PushWorld
from tests.services.world import ANN

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PushWorld:
    """A table with one segment; whoever pushes to it has another one added between its listing and its start."""
    made = PushWorld(tmp_path)
    made.file("a.csv", "Rom,1,17000")
    made.upload("old")
    open_replacement = push_run.open_replacement

    def race(*given: Any, **more: Any) -> None:
        made.upload("x")
        open_replacement(*given, **more)

    monkeypatch.setattr(push_run, "open_replacement", race)
    return made


def test_a_push_reports_what_was_added_between_its_listing_and_its_start(world: PushWorld) -> None:
    push = world.run(world.create())
    (own,) = [s.name for s in push.segments.all()]
    assert (push.state, world.visible) == (Push.State.DONE, sorted(["x", own]))
    assert push_document(push)["uncoveredSegments"] == ["x"]


def test_it_reports_them_when_the_reply_to_its_switch_was_lost(
    world: PushWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = push_run.end_replace

    def lose(*given: Any, **more: Any) -> None:
        end(*given, **more)
        raise RuntimeError("The reply is lost.")

    with monkeypatch.context() as patched:
        patched.setattr(push_run, "end_replace", lose)
        push = world.run(world.create())
    assert (push.state, push.uncovered) == (Push.State.RUNNING, [])
    world.now += 600_000
    push = world.run(push, owner="another")
    assert (push.state, push.uncovered) == (Push.State.DONE, ["x"])


@pytest.mark.parametrize("place", ["the specification", "the request"])
def test_a_strict_push_does_not_switch_next_to_them_and_is_taken_back(world: PushWorld, place: str) -> None:
    extra = {"executionFrameworkSpec": {"extraConfigs": {"strictSnapshot": True}}}
    spec = world.spec(**(extra if place == "the specification" else {}))
    push = create_push(world.ctx, spec, ANN, roots=[str(world.folder)], strict_snapshot=place == "the request")
    push = world.run(push)
    assert (push.state, world.visible, world.state(push.entry_id)) == (Push.State.FAILED, ["old", "x"], "REVERTED")
    assert "1 segment was added to table 't_OFFLINE' after the start" in push.error
    assert "next to its new segments: x." in push.error


def test_a_strict_push_that_replaces_all_is_switched(world: PushWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    push = create_push(world.ctx, world.spec(), ANN, roots=[str(world.folder)], strict_snapshot=True)
    assert (world.run(push).state, push.uncovered) == (Push.State.DONE, [])


def test_a_push_that_adds_cannot_be_strict(tmp_path: Path) -> None:
    world = PushWorld(tmp_path, batch={"segmentIngestionType": "APPEND", "consistentDataPush": False})
    world.file("a.csv", "Rom,1,17000")
    with pytest.raises(InvalidInput, match="do not replace the whole table"):
        world.create(executionFrameworkSpec={"extraConfigs": {"strictSnapshot": True}})
