"""Segments that somebody adds while a swap switches: reported by the session, or a reason to switch again with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.domain.ingestion.session import SessionState, from_record, to_record
from segments.services.ingestion import switch
from tests.ingestion.ingesting import APPEND, SWAP, IngestionWorld

pytestmark = pytest.mark.django_db


def raced(folder: Path, monkeypatch: pytest.MonkeyPatch, **keys: str) -> IngestionWorld:
    """A table whose first switch meets a segment that came in after its old side was frozen."""
    world = IngestionWorld(folder, keys)
    world.put("F1", 10)
    world.upload("old")
    open_replacement = switch.open_replacement

    def race(*given: Any, **more: Any) -> None:
        if "x" not in world.visible:
            world.upload("x")
        open_replacement(*given, **more)

    monkeypatch.setattr(switch, "open_replacement", race)
    return world


def test_a_swap_reports_what_was_added_while_it_switched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = raced(tmp_path, monkeypatch, **SWAP)
    world.go()
    assert (world.session.state, world.session.uncovered) == (SessionState.DONE, ("x",))
    assert (len(world.visible), "x" in world.visible, "old" in world.visible) == (2, True, False)
    assert from_record(to_record(world.session)) == world.session


def test_a_strict_swap_is_taken_back_and_the_next_trigger_replaces_what_was_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = raced(tmp_path, monkeypatch, **SWAP, strictSnapshot="true")
    world.go()
    assert (world.session.state, world.session.task) == (SessionState.IN_PROGRESS, "")
    assert "stay next to its new segments: x. The next trigger replaces them, too." in world.session.error
    assert world.visible == ["old", "x"]
    world.builder.builds.clear()
    world.go()
    assert (world.session.state, world.session.uncovered, world.read) == (SessionState.DONE, (), 0)
    assert (world.vis, len(world.visible)) == (10, 1)


def test_an_append_session_says_nothing_of_what_others_add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = raced(tmp_path, monkeypatch, **APPEND)
    world.go()
    assert (world.session.state, world.session.uncovered) == (SessionState.DONE, ())
