"""An installation whose deep store, staging and input are in an S3 store: a push, a rollback, a session of a watched
folder, a restore, a commit.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.ingestion.test_sessions import Folder, csv
from tests.integration.running import DAY0, Client, Installation
from tests.integration.test_push import finished, spec
from tests.integration.test_realtime_basic import Table
from tests.real_parts import free_port
from tests.s3_server import KEYS, S3Server, start_s3
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]


@pytest.fixture
def s3() -> Iterator[S3Server]:
    server = start_s3()
    for bucket in ("deep-store", "lake"):
        server.make_bucket(bucket)
    yield server
    server.stop()


def test_pushes_rollbacks_sessions_restores_and_commits_work_on_an_s3_store(tmp_path: Path, s3: S3Server) -> None:
    settings = {**s3.settings, "DEEP_STORE_URL": "s3://deep-store/segments"}
    installation = Installation(tmp_path / "data", "--input-root", "s3://lake/in", settings=settings).start(240)
    try:
        client = Client(installation.endpoints)
        _push_and_go_back(client, s3)
        _follow_a_folder(installation, client, s3)
        _delete_and_restore(client)
        _commit(installation, client, s3)
        assert not any((installation.folder / "deepstore").rglob("*"))
        _move(installation, client, s3)
    finally:
        assert installation.stop() == 0


def _pushed(client: Client, s3: S3Server, label: str, files: int) -> str:
    """A push from S3 of so many files of 25 rows; its lineage entry."""
    for number in range(files):
        lines = [f"{label},{i},{DAY0 + i % 5}" for i in range(25)]
        s3.put(f"lake/in/{label}/part {number}.csv", "\n".join(["v,n,day", *lines, ""]).encode())
    fs = [{"scheme": "s3", "className": "org.apache.pinot.plugin.filesystem.S3PinotFS", "configs": {}}]
    body = {**spec("pushed", Path("/")), "inputDirURI": f"s3://lake/in/{label}", "pinotFSSpecs": fs}
    done = finished(client, str(client.call("POST", "/api/v1/pushes", 201, json=body).json()["id"]), 200)
    assert (done["state"], done["error"], done["rows"]) == ("DONE", "", 25 * files)
    return str(done["segmentLineageEntryId"])


def _push_and_go_back(client: Client, s3: S3Server) -> None:
    client.create("pushed")
    _pushed(client, s3, "old", 1)
    assert client.counts("pushed") == {"old": 25}
    entry = _pushed(client, s3, "new", 3)
    assert client.counts("pushed") == {"new": 75}
    assert not list(s3.files_below("deep-store/segments/Staging"))
    client.revert("pushed", entry)
    assert client.counts("pushed") == {"old": 25}
    body = {**spec("pushed", Path("/")), "inputDirURI": "s3://lake/other"}
    assert "outside the addresses" in client.call("POST", "/api/v1/pushes", 403, json=body).text


def _follow_a_folder(installation: Installation, client: Client, s3: S3Server) -> None:
    client.create("watched")
    folder = Folder(installation, client, "watched", {
        "consistentPushEnabled": "true", "ingestionMode": "SYNC", "inputDirURI": "s3://lake/in/watched",
        "input.fs.className": "org.apache.pinot.plugin.filesystem.S3PinotFS",
    })  # fmt: skip
    for name, rows, bad in (("F1", 5, False), ("F2", 6, True)):
        s3.put(f"lake/in/watched/{name}", csv(name, rows, bad=bad).encode())
    first = folder.go()
    assert (first["state"], client.counts("watched")) == ("IN_PROGRESS", {}), "nothing is visible while a file fails"
    assert list(s3.files_below("deep-store/segments/Staging"))
    s3.put("lake/in/watched/F2", csv("F2", 7).encode())
    second = folder.go(retry=1)
    assert (second["id"], second["state"], second["error"]) == (first["id"], "DONE", "")
    assert client.counts("watched") == {"F1": 5, "F2": 7}
    files = client.call("GET", f"/api/v1/tables/watched/ingestion/sessions/{second['id']}/files").json()["files"]
    assert {f["uri"]: f["attempts"] for f in files} == {"s3://lake/in/watched/F1": 1, "s3://lake/in/watched/F2": 2}
    poll(lambda: not list(s3.files_below("deep-store/segments/Staging")), 20, "nothing stays staged")
    s3.files().delete_file("lake/in/watched/F1")
    assert (folder.go()["state"], client.counts("watched")) == ("DONE", {"F2": 7})


def _delete_and_restore(client: Client) -> None:
    client.create("kept")
    client.upload("kept", "s1", "s2")
    client.online("kept", "s1", "s2")
    client.call("DELETE", "/segments/kept/s1", params={"retention": "7d"})
    poll(lambda: client.counts("kept") == {"s2": 10}, 60, "s1 is deleted")
    body = {"segments": ["s1"]}

    def restored() -> bool:
        client.call("POST", "/api/v1/segments/kept_OFFLINE/restore", json=body)
        return client.counts("kept") == {"s1": 10, "s2": 10}

    poll(restored, 60, "s1 is back")


def _commit(installation: Installation, client: Client, s3: S3Server) -> None:
    table = Table(installation, client, "stream", rows=100)
    table.send(250)
    table.exact()
    poll(lambda: len(table.state()[0]) == 3 and table.is_settled(), 90, "two commits")
    done = sorted(table.state()[0])[:2]
    for segment in done:
        found = client.call("GET", f"/segments/stream_REALTIME/{segment}/metadata").json()["segment.download.url"]
        assert found.startswith("store:///segments/stream/")
        assert f"deep-store/{found.removeprefix('store:///')}" in s3.files_below("deep-store/segments/stream")
    table.exact()


def _move(installation: Installation, client: Client, s3: S3Server) -> None:
    """Another port, another spelling of the store, its endpoint and login as settings, and servers without their disks:
    everything is found again.
    """
    queries = [f"select count(*) from {table}" for table in ("pushed", "watched", "kept", "stream")]
    before_counts = {sql: client.sql(sql) for sql in queries}
    before = installation.port
    assert installation.stop() == 0
    shutil.rmtree(installation.folder / "servers")
    installation.port = str(free_port())
    installation.settings = {
        "AWS_EC2_METADATA_DISABLED": "true",
        "DEEP_STORE_URL": "s3://deep-store/segments/",
        "DEEP_STORE_ENDPOINT": s3.url,
        "DEEP_STORE_REGION": KEYS["AWS_REGION"],
        "DEEP_STORE_ACCESS_KEY": KEYS["AWS_ACCESS_KEY_ID"],
        "DEEP_STORE_SECRET_KEY": KEYS["AWS_SECRET_ACCESS_KEY"],
    }
    installation.start(120)
    assert installation.port != before
    moved = Client(installation.endpoints)
    poll(lambda: {sql: moved.sql(sql) for sql in queries} == before_counts, 60, "every table is whole again")
