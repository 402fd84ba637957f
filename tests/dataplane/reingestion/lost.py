"""Makes a segment that no server has, as when every committer died, and watches what becomes of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.reingestion.job import Job
from segments.domain.realtime.reingestion.rules import reopened
from segments.domain.segments import segment_metadata
from segments.gateways.deep_store.deepstore import encode
from segments.names import REALTIME, TableName
from segments.store import paths
from segments.store.records.reingestions import read_job
from segments.store.update import update_record
from tests.dataplane.consuming_world import RT, ConsumingWorld
from tests.dataplane.world import poll

TABLE = TableName("r", REALTIME)
#: How long replicas wait for a file that nobody has.
GIVES_UP_SOON = {"realtime.segment.pauseless.download.timeoutSeconds": "1"}
PEERS = {"peerSegmentDownloadScheme": "http"}


def audited(found: list[tuple[str, str, dict[str, Any]]]) -> Callable[..., None]:
    """In the place of ``audit.record``."""

    def record(actor: Any, action: str, *, outcome: str = "done", **detail: Any) -> None:
        found.append((action, outcome, {"actor": actor.name, **detail}))

    return record


def consumed(world: ConsumingWorld, rows: int = 30, *, servers: tuple[int, ...] = (1, 2), **table: Any) -> list[str]:
    """Servers that have committed segments of ten rows; the names of all segments, the last one consuming."""
    world.create_realtime(
        rows=10, servers=servers, segments=PEERS if len(servers) > 1 else {}, stream=GIVES_UP_SOON, **table
    )
    for number in servers:
        world.start_server(number)
    world.send(rows)
    poll(lambda: len(world.chain()) == rows // 10 + 1, 15, "the commits")
    world.settled()
    for number in servers:
        world.exact(number)
    return world.chain()


def change(world: ConsumingWorld, path: str, edit: Callable[[ZNRecord], ZNRecord]) -> None:
    """Edit one record by hand."""

    def decide(node: Any) -> ZNRecord:
        return edit(node.record)

    update_record(world.store, path, decide)


def lose(world: ConsumingWorld, segment: str, *, is_committed: bool = False) -> None:
    """Take the segment from every server, and its file from the deep store; its record is COMMITTING, or stays as it is
    (``is_committed``). Returns when every replica is in ERROR.
    """
    row = dict(world.store.get(paths.ideal_state(RT)).record.maps[segment])
    change(world, paths.ideal_state(RT), lambda r: replace(r, maps={k: v for k, v in r.maps.items() if k != segment}))
    poll(lambda: not world.view(segment), what="the servers to let go")
    for number in world.servers:
        kept = [p for p in (world.folder / f"server-{number}").iterdir() if not p.name.startswith(".")]
        for folder in [found for place in kept for found in (place, *place.rglob(segment)) if found.name == segment]:
            shutil.rmtree(folder, ignore_errors=True)
    world.deep_store.delete(f"r/{encode(segment)}")
    if not is_committed:
        change(world, paths.segment(RT, segment), lambda r: reopened(segment_metadata.from_record(r)).to_record())
    change(world, paths.ideal_state(RT), lambda r: replace(r, maps={**r.maps, segment: dict.fromkeys(row, "ONLINE")}))
    live = [i for i in row if i in world.store.children(paths.LIVE_INSTANCES)]
    poll(lambda: world.view(segment) == dict.fromkeys(live, "ERROR"), 15, "every replica in ERROR")


def job_of(world: ConsumingWorld, segment: str) -> Job:
    """The latest job of the segment."""
    job = read_job(world.store, RT, segment)
    assert job is not None
    return job


def back(world: ConsumingWorld, segment: str) -> None:
    """Wait until the segment is DONE and every server shows every row once."""
    poll(lambda: world.fields(segment)["segment.realtime.status"] == "DONE", 15, "the record to be DONE")
    row = world.store.get(paths.ideal_state(RT)).record.maps[segment]
    live = world.store.children(paths.LIVE_INSTANCES)
    poll(lambda: world.view(segment) == {i: "ONLINE" for i in row if i in live}, 15, "every replica ONLINE")
