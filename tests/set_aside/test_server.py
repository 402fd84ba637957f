"""Messages that gave no row leave the server with offset, reason and payload, before the commit that makes their
neighbours final.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from segments.domain.tables.schema import parse_schema
from segments.store import paths
from tests.dataplane.consuming.test_consuming import force
from tests.dataplane.consuming_world import SCHEMA, ConsumingWorld
from tests.dataplane.world import poll


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ConsumingWorld]:
    """An empty cluster."""
    made = ConsumingWorld(tmp_path)
    yield made
    made.close()


def wrong(number: int) -> bytes:
    """A row whose ``n`` is not a number."""
    return json.dumps({"id": f"bad{number}", "n": f"v{number}", "ts": 1_700_000_000_000}).encode()


def test_a_force_commit_leaves_nothing_behind_and_says_which_messages_gave_no_row(world: ConsumingWorld) -> None:
    segment = world.create_realtime()
    world.start_server()
    world.stream.send("topic", 0, [b"no json", wrong(1), b"x" * 20_000], 77)
    world.send(3)
    world.exact(1)
    force(world, segment)
    poll(lambda: world.reports.settled, what="the commit's own word")
    found = world.reports.messages
    assert [(m.partition, m.offset, m.segment, m.size, len(m.payload)) for m in found] == [
        (0, "0", segment, 7, 7), (0, "1", segment, len(wrong(1)), len(wrong(1))), (0, "2", segment, 20_000, 16 << 10),
    ]  # fmt: skip
    assert (found[1].column, found[1].reason) == ("n", "Column 'n': value 'v1' does not convert to LONG.")
    assert (found[0].payload, found[0].sent_ms) == (b"no json", 77)
    (settled,) = world.reports.settled
    assert (settled.partition, settled.start, settled.end, settled.offsets) == (0, "0", "6", ["0", "1", "2"])


def test_what_was_committed_while_the_web_process_was_down_comes_from_the_disk_of_the_restarted_server(
    world: ConsumingWorld,
) -> None:
    world.reports.is_unreachable = True
    world.create_realtime(rows=3)
    server = world.start_server()
    world.stream.send("topic", 0, [wrong(0)], 1)
    world.send(3)
    poll(lambda: len(world.chain()) == 2, what="the commit, which waits for nobody")
    server.stop()
    world.reports.is_unreachable = False
    world.start_server()
    poll(lambda: [m.offset for m in world.reports.messages] == ["0"], what="the message")


def test_a_segment_that_is_read_again_with_a_schema_that_fits_settles_that_nothing_is_wrong(
    world: ConsumingWorld,
) -> None:
    segment = world.create_realtime()
    server = world.start_server()
    world.stream.send("topic", 0, [wrong(0)], 1)
    poll(lambda: [m.offset for m in world.reports.messages] == ["0"], what="the message set aside")
    server.stop()
    fields = [{"name": "id", "dataType": "STRING"}, {"name": "n", "dataType": "STRING"}]
    other = parse_schema({**SCHEMA.body, "dimensionFieldSpecs": fields})
    node = world.store.get(paths.schema("r"))
    world.store.replace(paths.schema("r"), other.to_record(), node.version)
    world.start_server()
    poll(lambda: world.rows_of(1), what="the row")
    force(world, segment)
    poll(lambda: [s.offsets for s in world.reports.settled] == [[]], what="a commit without bad messages")


def test_a_hundred_thousand_bad_messages_hold_up_no_row(world: ConsumingWorld) -> None:
    world.create_realtime()
    world.stream.send("topic", 0, [wrong(n) for n in range(100_000)], 1)
    world.start_server()
    began = time.monotonic()
    world.send(1_000)
    poll(lambda: sum(world.rows_of(1).values()) == 1_000, 60.0, "the rows behind the flood")
    assert time.monotonic() - began < 40
    dropped = sum(r.dropped for r in world.reports.taken)
    poll(
        lambda: sum(r.dropped for r in world.reports.taken) + len(world.reports.messages) == 100_000,
        30.0,
        f"all counted, {dropped}",
    )
