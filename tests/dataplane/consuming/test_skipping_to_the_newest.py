"""Servers of a table that skips what is too old: each row that is not skipped once, on every replica, and no query sees
fewer rows than before.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from segments.domain.realtime.streams.offset_auto_reset import ENABLE, MESSAGES
from segments.store.records.data_loss import read_data_loss
from tests.background import Background
from tests.dataplane.consuming.keyed.keyed_world import KeyedWorld
from tests.dataplane.consuming.pauseless_world import PEERS
from tests.dataplane.consuming_world import RT, ConsumingWorld, rows_of
from tests.dataplane.world import poll

STREAM = {ENABLE: "true", MESSAGES: "50"}
#: Messages: those of the first segment, those that are skipped, those that are read then.
FIRST, SKIPPED, THEN = 100, 250, 30


@pytest.fixture(params=["standard", "pauseless", "upsert"])
def world(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ConsumingWorld]:
    """Two servers that begin when the stream is far ahead of them."""
    if request.param == "upsert":
        keyed = made = KeyedWorld(tmp_path)
        keyed.create_keyed(
            {"upsertConfig": {"mode": "FULL"}}, rows=FIRST, servers=(1, 2), stream=STREAM, segments=PEERS
        )
    else:
        made = ConsumingWorld(tmp_path)
        is_pauseless = request.param == "pauseless"
        made.create_realtime(rows=FIRST, servers=(1, 2), stream=STREAM, segments=PEERS, is_pauseless=is_pauseless)
    yield made
    made.close()


def test_rows_behind_a_full_segment_are_skipped_by_every_replica_and_none_is_shown_before(
    world: ConsumingWorld,
) -> None:
    world.send(FIRST + SKIPPED)
    world.start_server(1)
    world.start_server(2)
    broker, seen = world.start_broker(), [0]

    def count() -> None:
        answer = broker.query("select count(*), distinctcount(id) from r")
        if not answer["exceptions"] and answer["resultTable"]:
            [[rows, different]] = answer["resultTable"]["rows"]
            assert rows == different >= seen[0]
            seen[0] = rows

    reader = Background(count, 0.005).start()
    poll(lambda: len(world.chain()) == 2, what="the next segment")
    world.settled()
    world.send(THEN)
    poll(lambda: seen[0] == FIRST + THEN, 20, "the rows that are read")
    reader.stop()
    assert rows_of(broker, "select min(n), max(n), sum(n) from r") == [[
        0, world.sent - 1, sum(range(FIRST)) + sum(range(FIRST + SKIPPED, world.sent))
    ]]  # fmt: skip
    for number in (1, 2):
        kept = [*range(FIRST), *range(FIRST + SKIPPED, world.sent)]
        poll(lambda n=number, kept=kept: sorted(world.ids_of(n)) == sorted(f"i{i}" for i in kept), what="each replica")
    old, new = world.chain()
    assert world.fields(old)["segment.realtime.endOffset"] == str(FIRST)
    assert world.fields(new)["segment.realtime.startOffset"] == str(FIRST + SKIPPED)
    [loss] = read_data_loss(world.store, RT)
    assert (loss.start, loss.end, loss.segment, loss.is_skipped) == (str(FIRST), str(FIRST + SKIPPED), new, True)
