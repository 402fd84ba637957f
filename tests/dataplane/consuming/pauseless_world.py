"""What tests of pauseless commits share: such a table, uploads that can be held up, and the state of a commit."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from segments.gateways.deep_store.deepstore import DeepStore
from segments.names import REALTIME, TableName
from tests.dataplane.consuming_world import ConsumingWorld
from tests.dataplane.world import poll

TABLE = TableName("r", REALTIME)
PEERS = {"peerSegmentDownloadScheme": "http"}
#: A server that waits for no upload for long, so that it can be stopped in the middle of a commit.
IMPATIENT = {"upload_s": 0.2}


class SlowUploads:
    """Every upload to the deep store waits until ``answers`` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers, put = threading.Event(), DeepStore.put

        def slow(store: DeepStore, source: Path, path: str) -> int:
            self.answers.wait(60)
            return put(store, source, path)

        monkeypatch.setattr(DeepStore, "put", slow)


def create(world: ConsumingWorld, *, servers: tuple[int, ...] = (1,), rows: int = 100, **more: Any) -> str:
    return world.create_realtime(
        rows=rows, servers=servers, segments=PEERS if len(servers) > 1 else {}, is_pauseless=True, **more
    )


def status(world: ConsumingWorld, segment: str) -> str:
    return world.fields(segment)["segment.realtime.status"]


def done(world: ConsumingWorld, segment: str) -> None:
    poll(lambda: status(world, segment) == "DONE", 20, "the commit's end")
