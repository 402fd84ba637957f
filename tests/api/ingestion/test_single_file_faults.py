"""A single file that changes while it is copied, a disk that fills up, and pushes that do not come to their end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from segments import wiring
from segments.api.ingestion import single_file as views
from segments.errors import Unavailable
from segments.gateways.input_files import source as sources
from segments.models import Push
from segments.services.push.push_run import MAX_ATTEMPTS
from tests.api.ingestion.conftest import Api

pytestmark = pytest.mark.django_db


class Opened:
    """A file of 10 bytes, as its store says, that gives other ones."""

    def __init__(self, *blocks: bytes) -> None:
        self._blocks = [*blocks]

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def size(self) -> int:
        return 10

    def read(self, _: int) -> bytes:
        return self._blocks.pop(0) if self._blocks else b""


@pytest.mark.parametrize(
    ("blocks", "status", "says"),
    [((b"x" * 6, b"x" * 6), 409, "grew while it was read"), ((b"x" * 6,), 409, "shrank while it was read")],
)
def test_a_file_that_changes_while_it_is_copied_is_not_pushed(
    api: Api,
    monkeypatch: pytest.MonkeyPatch,
    blocks: tuple[bytes, ...],
    status: int,
    says: str,
) -> None:
    path = api.world.file("a.csv", "Rom,1,17000")
    monkeypatch.setattr(sources.InputSource, "open", lambda *_: Opened(*blocks))
    answer = api.fetch(str(path))
    assert (answer.status_code, says in answer.json()["error"]) == (status, True), answer.content
    assert (api.uploads, Push.objects.count()) == ([], 0)


def test_copying_has_an_end(api: Api) -> None:
    path = api.world.file("a.csv", "Rom,1,17000")
    with wiring.use(replace(api.ctx, limits=replace(api.ctx.limits, fetch_s=-1.0))):
        answer = api.fetch(str(path))
    assert (answer.status_code, "took longer than" in answer.json()["error"]) == (503, True), answer.content
    assert (api.uploads, Push.objects.count()) == ([], 0)


def test_a_file_name_with_nul_is_refused(api: Api) -> None:
    answer = api.fetch(f"file://{api.world.folder}/a%00.csv")
    assert (answer.status_code, "names no file" in answer.json()["error"]) == (400, True), answer.content


def test_a_disk_that_fills_up_while_a_file_comes_in_ends_it(
    api: Api,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def check(size: int) -> None:
        if size:
            raise Unavailable("The disk is full.")

    monkeypatch.setattr(views, "_CHECK_DISK_EVERY", 1)
    monkeypatch.setattr(views, "check_room", check)
    answer = api.send()
    assert (answer.status_code, api.uploads, Push.objects.count()) == (503, [], 0)


@pytest.mark.parametrize(
    ("values", "status", "says"),
    [
        ({"state": "CANCELLED"}, 409, "was cancelled when ingesting file"),
        ({"state": "FAILED", "error": "No worker.", "attempts": MAX_ATTEMPTS + 1}, 503, "Caught exception when"),
        ({"state": "FAILED", "error": "Line 2.", "attempts": 1}, 400, "Got illegal argument when"),
    ],
)
def test_a_push_that_does_not_come_to_its_end_is_answered_with_the_reason(
    api: Api, values: dict[str, Any], status: int, says: str
) -> None:
    api.queue.work = lambda push: Push.objects.filter(pk=push).update(**values)
    answer = api.send()
    assert (answer.status_code, says in answer.json()["error"]) == (status, True), answer.content
    assert answer.json()["push"] == str(Push.objects.get().pk)
    assert api.uploads == []
