"""People and a small cluster in memory for the page tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.test import Client

import segments.console.person_time_zone  # noqa: F401  # who logs in before the first request has a time zone, too
from segments import wiring
from tests.factories import CLUSTER, make_user
from tests.services.world import TABLE, World

RAW, TYPED = TABLE.raw, TABLE.typed


class FakeBroker:
    """Answers every query with what it was given."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answer: dict[str, object] = {
            "resultTable": {
                "dataSchema": {"columnNames": ["carrier", "n"], "columnDataTypes": ["STRING", "LONG"]},
                "rows": [["AA", 3], [None, 1]],
            },
            "exceptions": [],
            "timeUsedMs": 12,
            "numDocsScanned": 4,
        }

    def query(self, sql: str) -> dict[str, object]:
        self.asked.append(sql)
        return self.answer


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """One REFRESH table ``t`` in memory; ``wiring`` gives out its context."""
    world = World(tmp_path)
    world.ctx = replace(world.ctx, cluster=CLUSTER)
    with wiring.use(world.ctx, FakeBroker()):
        yield world


@pytest.fixture
def broker(world: World) -> FakeBroker:
    """The broker that the query page asks."""
    found = wiring.broker()
    assert isinstance(found, FakeBroker)
    return found


@pytest.fixture
def viewer(db: None) -> Client:
    """Logged in, no rights."""
    return logged_in("vera")


@pytest.fixture
def operator(db: None) -> Client:
    """Logged in, may operate."""
    return logged_in("olga", "operate")


def logged_in(name: str, *rights: str, is_superuser: bool = False) -> Client:
    """A client with a session."""
    client = Client()
    client.force_login(make_user(name, *rights, is_staff=is_superuser, is_superuser=is_superuser))
    return client


def seen(client: Client, address: str) -> str:
    """What stands, in the form of a button, for the preview that is shown."""
    found = re.search(r'name="seen" value="([^"]+)"', client.get(address).content.decode())
    return found[1] if found else ""
