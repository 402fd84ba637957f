"""The deep store and file ingestion sessions in Azure's blobs: the suites of every store, on an Azurite."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from segments.gateways.deep_store.access import StoreAccess
from segments.gateways.deep_store.deepstore import DeepStore
from tests.input_files import test_cloud_sessions, test_deep_stores
from tests.input_files.test_cloud_sessions import Cloud
from tests.input_files.test_cloud_sessions import world as world
from tests.input_files.test_deep_stores import file as file
from tests.real_pinot.stores import azurite
from tests.real_pinot.stores.azurite import ACCOUNT, CONTAINER, KEY, Azurite
from tests.real_pinot.suites import shared

pytestmark = shared.MARKS
_PLACE = f"abfss://{CONTAINER}@{ACCOUNT}.dfs.core.windows.net"


@pytest.fixture(scope="module")
def azure() -> Iterator[Azurite]:
    if problem := azurite.fetch():
        pytest.skip(problem)
    server = azurite.start_azurite()
    yield server
    server.stop()


@pytest.fixture
def store(azure: Azurite) -> DeepStore:
    return DeepStore(f"{_PLACE}/{uuid.uuid4()}", access=StoreAccess(azure.url, secret_key=KEY))


@pytest.fixture
def cloud(azure: Azurite) -> Cloud:
    name = uuid.uuid4().hex
    return Cloud(
        f"{_PLACE}/{name}/in",
        {
            "className": "org.apache.pinot.plugin.filesystem.ADLSGen2PinotFS",
            "accessKey": KEY,
            "endpoint": azure.url,
        },
        lambda key, data: azure.put(f"{CONTAINER}/{name}/in/{key}", data),
        DeepStore(f"{_PLACE}/{name}/deep", access=StoreAccess(azure.url, secret_key=KEY)),
        marks_bytes=False,
    )


globals().update(shared.tests_with(test_deep_stores, "store"))
globals().update(shared.tests_with(test_cloud_sessions, "world"))


def test_a_wrong_key_is_a_fault_that_shows_no_key(azure: Azurite) -> None:
    wrong = DeepStore(f"{_PLACE}/x", access=StoreAccess(azure.url, secret_key="d3Jvbmc="))
    with pytest.raises(Exception, match="Check the login of the deep store") as caught:
        wrong.write("t/s", b"x")
    assert "d3Jvbmc=" not in str(caught.value)
