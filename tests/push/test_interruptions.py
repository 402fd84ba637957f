"""A push that dies after any write ends, once resumed, exactly as one that never died, and builds nothing twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.errors import StateConflict
from segments.gateways.deep_store.deepstore import STAGING, DeepStore
from segments.models import Push
from segments.services.push.push_run import run_push
from segments.services.push.push_session import Session
from segments.services.segments import deletion
from segments.services.upkeep import retention
from tests.push.pushing import PushWorld
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

_STORE_WRITES = ("create", "replace", "delete", "transaction")
_FILE_WRITES = ("move", "delete", "delete_folder", "put")


class Killed(BaseException):
    """The process is gone: nothing catches this."""


class Cut:
    """Counts writes; dies right after the one that is due."""

    def __init__(self, due: int | None) -> None:
        self.due, self.count = due, 0

    def wrap(self, part: Any, names: tuple[str, ...]) -> Any:
        return _Cutting(self, part, names)

    def wrote(self) -> None:
        self.count += 1
        if self.count == self.due:
            raise Killed


class _Cutting:
    def __init__(self, cut: Cut, part: Any, names: tuple[str, ...]) -> None:
        self._cut, self._part, self._names = cut, part, names

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        if name not in self._names:
            return found

        def write(*args: Any, **kwargs: Any) -> Any:
            result = found(*args, **kwargs)
            self._cut.wrote()
            return result

        return write


def attempt(world: PushWorld, push: Push, cut: Cut, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx = type(world.ctx)(
        **{
            **world.ctx.__dict__,
            "store": cut.wrap(world.ctx.store, _STORE_WRITES),
            "deep_store": cut.wrap(world.ctx.deep_store, _FILE_WRITES),
        }
    )
    update = Session.update

    def cutting(self: Session, **fields: Any) -> None:
        update(self, **fields)
        cut.wrote()

    with monkeypatch.context() as patched:
        patched.setattr(Session, "update", cutting)
        run_push(ctx, str(push.pk), f"runner-{cut.due}", builder=world.builder)


def fresh(folder: Path) -> tuple[PushWorld, Push]:
    world = PushWorld(folder)
    world.upload("old")
    for name in ("a", "b", "c"):
        world.file(f"{name}.csv", f"{name},1,17000")
    return world, world.create()


def test_cut_after_every_write_and_resumed_it_ends_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, push = fresh(tmp_path / "whole")
    whole = Cut(None)
    attempt(world, push, whole, monkeypatch)
    expected, files = world.visible, world.files
    assert whole.count > 20
    for due in range(1, whole.count + 1):
        Push.objects.all().delete()
        world, push = fresh(tmp_path / str(due))
        with pytest.raises(Killed):
            attempt(world, push, Cut(due), monkeypatch)
        world.now += 30_000
        again = Cut(None)
        attempt(world, push, again, monkeypatch)
        push.refresh_from_db()
        assert (push.state, push.error) == (Push.State.DONE, ""), due
        assert (world.visible, world.files, world.state(push.entry_id)) == (expected, files, "COMPLETED"), due
        assert sorted(world.builder.builds) == [0, 1, 2], due
        assert world.ctx.deep_store.folders(STAGING) == [], due
        assert (push.segments_built, push.segments_uploaded, push.rows) == (3, 3, 3), due


def test_cut_after_every_write_of_taking_back_it_still_fails_cleanly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise StateConflict("No.")

    monkeypatch.setattr("segments.services.push.push_run.end_replace", refuse)
    world, push = fresh(tmp_path / "whole")
    whole = Cut(None)
    attempt(world, push, whole, monkeypatch)
    for due in range(whole.count - 8, whole.count + 1):
        Push.objects.all().delete()
        world, push = fresh(tmp_path / str(due))
        with pytest.raises(Killed):
            attempt(world, push, Cut(due), monkeypatch)
        world.now += 30_000
        attempt(world, push, Cut(None), monkeypatch)
        push.refresh_from_db()
        assert push.state == Push.State.FAILED, due
        retention.run(world.ctx, TABLE)
        deletion.drain(world.serve().ctx, TABLE)
        assert (world.visible, world.files) == (["old"], ["old"]), due
        assert DeepStore(world.ctx.deep_store.url).folders(STAGING) == [], due
        assert push.actor == ANN.name
