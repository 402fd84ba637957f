"""The deep store and file ingestion sessions in a real HDFS: the suites of every store."""

from __future__ import annotations

import gc
import uuid
from collections.abc import Iterator

import pytest

from segments.domain.push.store_uri import parse_folder_uri
from segments.errors import Unavailable
from segments.gateways.deep_store.deepstore import DeepStore
from segments.gateways.input_files.remote_files import RemoteFiles
from tests.input_files import test_cloud_sessions, test_deep_stores
from tests.input_files.test_cloud_sessions import Cloud
from tests.input_files.test_cloud_sessions import world as world
from tests.input_files.test_deep_stores import file as file
from tests.real_parts import free_port
from tests.real_pinot.stores import hdfs as real_hdfs
from tests.real_pinot.stores.hdfs import Hdfs
from tests.real_pinot.suites import shared

pytestmark = shared.MARKS


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    """The native client reads its environment once, in the first call of this process."""
    if problem := real_hdfs.fetch():
        pytest.skip(problem)
    with pytest.MonkeyPatch.context() as patched:
        for name, value in real_hdfs.client_environment().items():
            patched.setenv(name, value)
        server = real_hdfs.start_hdfs(tmp_path_factory.mktemp("hdfs"))
        yield server
        server.stop()


@pytest.fixture
def store(hdfs: Hdfs) -> DeepStore:
    return DeepStore(f"{hdfs.address}/{uuid.uuid4()}?user={hdfs.superuser}")


@pytest.fixture
def cloud(hdfs: Hdfs) -> Cloud:
    name = uuid.uuid4().hex
    return Cloud(
        f"{hdfs.address}/{name}/in",
        {"className": "org.apache.pinot.plugin.filesystem.HadoopPinotFS", "user": hdfs.superuser},
        lambda key, data: hdfs.put(f"{name}/in/{key}", data),
        DeepStore(f"{hdfs.address}/{name}/deep?user={hdfs.superuser}"),
        marks_bytes=False,
    )


globals().update(shared.tests_with(test_deep_stores, "store"))
globals().update(shared.tests_with(test_cloud_sessions, "world"))


def test_a_file_that_was_opened_stays_open_when_nobody_holds_its_store(hdfs: Hdfs) -> None:
    hdfs.put("kept/x", b"rows")
    address = parse_folder_uri(f"{hdfs.address}/kept")
    file = RemoteFiles(address, [str(address)], {"user": hdfs.superuser}, is_closed=True).open(f"{address}/x")
    stored = DeepStore(f"{hdfs.address}/kept?user={hdfs.superuser}").open("x")
    gc.collect()
    assert (file.read(), stored.read()) == (b"rows", b"rows")
    file.close()
    stored.close()


def test_an_hdfs_that_is_down_is_a_fault_that_names_it(hdfs: Hdfs) -> None:
    store = DeepStore(f"hdfs://127.0.0.1:{free_port()}/x?user={hdfs.superuser}")
    with pytest.raises(Unavailable, match=r"hdfs://127\.0\.0\.1"):
        store.write("t/s", b"x")
