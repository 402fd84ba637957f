"""What a mirror receives from a real Pinot, over its ZooKeeper (3.5, which knows no lasting watches) and
over REST alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from segments.gateways.pinot import Connection, Credentials, HttpPinotController
from segments.store import paths
from segments.store.base import Store
from segments.store.on_pinot.controller import ControllerStore
from segments.store.on_pinot.zookeeper import PinotZooKeeper
from tests.integration.running import Client
from tests.real_pinot.cluster import CLUSTER, RealPinot
from tests.waiting import wait_until

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(400)]


@pytest.fixture
def direct(pinot: RealPinot) -> Iterator[Client]:
    """A client of the real controller itself."""
    client = Client({"controller": pinot.controller, "authorization": ""})
    yield client
    client.http.close()


@pytest.fixture
def table(pinot: RealPinot, direct: Client) -> str:
    """A table with two segments that are online, one for each test."""
    name = f"mirrored_{time.time_ns()}"
    direct.create(name)
    direct.upload(name, "a1", "a2")
    pinot.wait_for_rows(name, 20)
    return name


@pytest.fixture(params=["zookeeper", "rest"])
def store(request: pytest.FixtureRequest, pinot: RealPinot) -> Iterator[Store]:
    """Each of the two ways."""
    if request.param == "zookeeper":
        with closing(PinotZooKeeper(pinot.zookeeper, lambda: CLUSTER)) as made:
            made.children("/")
            assert made._opened is not None
            assert made._opened._is_old, "Pinot 0.11.0 brings a ZooKeeper from before 3.6"
            yield made
        return
    controller = HttpPinotController(Connection(CLUSTER, (pinot.controller,), credentials=Credentials))
    with closing(controller), closing(ControllerStore(controller)) as over_rest:
        yield over_rest


def test_a_segment_that_comes_is_reported_and_one_that_is_uploaded_again_too(
    pinot: RealPinot, direct: Client, store: Store, table: str
) -> None:
    told: list[str | None] = []
    typed = f"{table}_OFFLINE"
    for prefix in (paths.SEGMENTS, paths.IDEAL_STATES, paths.EXTERNAL_VIEWS):
        store.watch(prefix, told.append)
    wait_until(lambda: told.count(None) == 3, 60)
    direct.upload(table, "a3")
    wait_until(lambda: {paths.ideal_state(typed), paths.external_view(typed)} <= set(told), 60)
    wait_until(lambda: paths.segment(typed, "a3") in told or paths.segments(typed) in told, 60)
    pinot.wait_for_rows(table, 30)
    told.clear()
    direct.upload(table, "a1", rows=7)
    wait_until(lambda: paths.segment(typed, "a1") in told, 90)
    assert paths.segment(typed, "a2") not in told
    node = store.get(paths.segment(typed, "a1"))
    assert node is not None
    assert node.record is not None
    assert node.record.simple["segment.total.docs"] == "7"
