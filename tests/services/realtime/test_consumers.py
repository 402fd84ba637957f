"""What servers report of consumers beyond Pinot's answer, and copies that the deep store lacks as findings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from segments.errors import NotFound, Unavailable
from segments.models import Finding
from segments.names import REALTIME, TableName
from segments.services.realtime.consumers import BadMessage, read_consumers
from segments.services.realtime.realtime_validation import run
from segments.store import paths
from tests.services.embedded_engine import asking
from tests.services.realtime_world import TABLE, RealtimeWorld

pytestmark = pytest.mark.django_db


def world_that_says(tmp_path: Path, rows: Mapping[str, Any]) -> RealtimeWorld:
    """``rows``: end of a server's address -> its answer; other servers are silent."""
    world = RealtimeWorld(tmp_path)

    def ask(url: str, method: str, path: str, timeout_s: float) -> Any:
        assert (method, path) == ("GET", f"/tables/{TABLE.typed}/consumers")
        for end, answer in rows.items():
            if url.endswith(end):
                return answer
        raise Unavailable("silent")

    world.ctx = asking(world.ctx, ask)
    return world


def servers_of(world: RealtimeWorld) -> list[str]:
    return sorted({i for row in world.ideal.maps.values() for i in row})


def test_counts_samples_and_problems_of_every_replica_are_reported_in_order(tmp_path: Path) -> None:
    bad = [{"offset": "17", "reason": "no JSON"}]
    told = [
        {"segmentName": "b", "partition": 1, "problem": "The stream does not answer."},
        {
            "segmentName": "a",
            "partition": 0,
            "rows": 40,
            "bytes": 4096,
            "messages": 42,
            "filteredRows": 3,
            "badMessages": 2,
            "badSamples": bad,
        },
        {"segmentName": "c", "partition": None, "state": "STARTING"},
    ]
    world = world_that_says(tmp_path, {"": told})
    found = read_consumers(world.ctx, TABLE)
    assert [(c.partition, c.server) for c in found] == [(p, s) for p in (0, 1) for s in servers_of(world)]
    first = found[0]
    assert (first.rows, first.bytes, first.messages, first.filtered_rows, first.bad_messages) == (40, 4096, 42, 3, 2)
    assert first.samples == (BadMessage("17", "no JSON"),)
    assert found[-1].problem == "The stream does not answer."
    assert first.to_json()["badSamples"] == bad


@pytest.mark.parametrize("answer", [{"no": "list"}, ["text"], None])
def test_an_answer_that_makes_no_sense_is_left_out(tmp_path: Path, answer: object) -> None:
    assert read_consumers(world_that_says(tmp_path, {"": answer}).ctx, TABLE) == []


def test_silent_servers_are_left_out_and_an_unknown_table_is_not_found(tmp_path: Path) -> None:
    world = world_that_says(tmp_path, {})
    assert read_consumers(world.ctx, TABLE) == []
    with pytest.raises(NotFound):
        read_consumers(world.ctx, TableName("nobody", REALTIME))


def test_a_copy_that_the_deep_store_lacks_stays_a_finding_until_it_is_there(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = world.consuming[0]
    world.commit("10")
    world.set_record(segment, **{"segment.realtime.status": "DONE", "segment.download.url": "", "segment.crc": "5"})
    world.memory.delete_tree(paths.external_view(TABLE.typed))
    assert any(f"Segment {segment} is only on servers: no live server has it." in s for s in run(world.ctx, TABLE))
    finding = Finding.objects.get(code="consumption-no-copy")
    assert (finding.subject, finding.severity, finding.closed_at) == (segment, "warning", None)
    world.set_record(segment, **{"segment.download.url": "file:///somewhere"})
    run(world.ctx, TABLE)
    assert Finding.objects.get(code="consumption-no-copy").closed_at is not None
