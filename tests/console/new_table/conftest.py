"""A cluster in memory with a root that files may come from, and a queue that takes every push."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from segments import wiring
from segments.gateways.input_files.rules import InputRules
from segments.services.jobs import queue
from tests.console.conftest import FakeBroker, logged_in
from tests.factories import CLUSTER
from tests.services.world import World


@pytest.fixture
def root(tmp_path: Path, settings: Any) -> Path:
    settings.INPUT_ROOTS = [str(tmp_path / "input")]
    (tmp_path / "input").mkdir()
    return tmp_path / "input"


@pytest.fixture
def world(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """As everywhere in the console, with a root that input may come from and a queue that takes everything."""
    monkeypatch.setattr(queue, "enqueue_push", lambda *_: True)
    world = World(tmp_path)
    world.ctx = replace(world.ctx, cluster=CLUSTER, inputs=InputRules((str(root),)))
    with wiring.use(world.ctx, FakeBroker()):
        yield world


@pytest.fixture
def adele(world: World) -> Client:
    return logged_in("adele", "operate", "administer")
