"""The tab History of a REALTIME table: what the stream brought stays, and the page says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.test import Client

from segments import wiring
from segments.models import Table
from segments.names import TableName
from tests.console.conftest import logged_in
from tests.factories import CLUSTER, make_table
from tests.mirror.test_stream_snapshots import Streamed
from tests.services.realtime_world import TABLE

HISTORY = f"/console/tables/{TABLE.typed}/history/"


@pytest.fixture
def world(tmp_path: Path, db: None) -> Iterator[Streamed]:
    """Snapshot 1 is one committed segment, in 2 somebody uploaded another, and 3 has one more of the stream."""
    made = Streamed(tmp_path, CLUSTER)
    made.ctx = replace(made.ctx, cluster=CLUSTER)
    made.next(10)
    made.upload("extra")
    made.next(20)
    with wiring.use(made.ctx, None):
        yield made


@pytest.fixture
def operator(db: None) -> Client:
    return logged_in("olga", "operate")


def shown(client: Client, address: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", client.get(address).content.decode()))


def test_each_snapshot_says_what_made_it_and_going_back_is_offered_where_it_changes_something(
    world: Streamed, operator: Client
) -> None:
    text = shown(operator, HISTORY)
    assert "what the stream commits within an hour is one snapshot" in text
    third, second, first = re.split(r"Snapshot \d ", text)[1:]
    assert ("what queries see" in third, "Committed from the stream" in third, "Go back" in third) == (
        True,
        True,
        False,
    )
    assert ("and later rows" in second, "Segments uploaded" in second, "Go back" in second) == (True, True, False)
    assert ("Go back to this…" in first, "Query this" in first) == (True, True)
    preview = shown(operator, f"{HISTORY}1/restore/")
    assert ("What the stream brought since then stays" in preview, "extra" in preview) == (True, True)


def test_where_only_the_stream_went_on_the_preview_says_that_there_is_nothing_to_do(
    world: Streamed, operator: Client
) -> None:
    preview = shown(operator, f"{HISTORY}2/restore/")
    assert "Queries see all of snapshot 2 now. What the stream brought since stays." in preview


def test_of_a_table_of_keys_snapshots_are_queried_and_the_page_says_what_its_numbers_count(
    world: Streamed, operator: Client
) -> None:
    table = Table.objects.get(name=TABLE.typed)
    table.config = {**table.config, "upsertConfig": {"mode": "FULL"}}
    table.save()
    text = shown(operator, HISTORY)
    assert ("shows one row of each key, as of then" in text, "Query this" in text) == (True, True)


def test_a_push_is_offered_where_the_table_has_an_offline_half_to_take_it(world: Streamed, operator: Client) -> None:
    assert "New push" not in shown(operator, HISTORY)
    make_table(TableName(TABLE.raw, "OFFLINE").typed)
    assert f"New push to {TABLE.raw}_OFFLINE" in shown(operator, HISTORY)
