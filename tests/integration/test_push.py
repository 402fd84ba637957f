"""Pushes through the whole installation: a good one, bad input of every kind, and processes killed in the middle."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integration.running import DAY0, Client, Installation
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


@pytest.fixture
def folder(installation: Installation, table: str) -> Path:
    """An input folder that pushes may read."""
    made = installation.folder / "input" / table
    made.mkdir(parents=True)
    return made


def write(folder: Path, name: str, rows: int, label: str, *, header: str = "v,n,day", bad_line: str = "") -> None:
    lines = [f"{label},{i},{DAY0 + i % 5}" for i in range(rows)]
    if bad_line:
        lines[rows // 2] = bad_line
    (folder / name).write_text("\n".join([header, *lines]) + "\n")


def spec(table: str, folder: Path, **more: Any) -> dict[str, Any]:
    return {
        "executionFrameworkSpec": {"name": "spark"},
        "jobType": "SegmentCreationAndMetadataPush",
        "inputDirURI": str(folder),
        "includeFileNamePattern": "glob:**/*.csv",
        "recordReaderSpec": {"dataFormat": "csv"},
        "tableSpec": {"tableName": table},
        "pinotFSSpecs": [{"scheme": "file", "className": "org.apache.pinot.spi.filesystem.LocalPinotFS"}],
        **more,
    }


def push(client: Client, table: str, folder: Path, **more: Any) -> str:
    return str(client.call("POST", "/api/v1/pushes", 201, json=spec(table, folder, **more)).json()["id"])


def state(client: Client, push_id: str) -> dict[str, Any]:
    found: dict[str, Any] = client.call("GET", f"/api/v1/pushes/{push_id}").json()
    return found


def finished(client: Client, push_id: str, seconds: float = 100) -> dict[str, Any]:
    return (
        poll(
            lambda: (s := state(client, push_id))["state"] in ("DONE", "FAILED", "CANCELLED") and s,
            seconds,
            "push finished",
        )
        or {}
    )


@pytest.fixture
def first(client: Client, table: str, folder: Path) -> dict[str, int]:
    """A table with one pushed snapshot."""
    write(folder, "one.csv", 30, "old")
    done = finished(client, push(client, table, folder))
    assert (done["state"], done["error"]) == ("DONE", "")
    assert client.counts(table) == {"old": 30}
    (folder / "one.csv").unlink()
    return {"old": 30}


def unchanged(client: Client, table: str, first: dict[str, int]) -> None:
    """The old snapshot is served, and nothing hidden is left."""
    assert client.counts(table) == first
    poll(
        lambda: len(client.call("GET", f"/segments/{table}", params={"type": "OFFLINE"}).json()[0]["OFFLINE"]) == 1,
        20,
        "hidden segments gone",
    )


def test_a_second_snapshot_replaces_the_first_and_can_be_taken_back(
    client: Client, table: str, folder: Path, first: dict[str, int]
) -> None:
    for i in range(4):
        write(folder, f"part{i}.csv", 25, "new")
    done = finished(client, push(client, table, folder))
    assert (done["state"], done["rows"], done["segmentsUploaded"], done["filesDone"]) == ("DONE", 100, 4, 4)
    assert client.counts(table) == {"new": 100}
    client.revert(table, done["segmentLineageEntryId"])
    assert client.counts(table) == first


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"bad_line": "x,seven,19000"}, ["part.csv", "line 17", "n", "seven"]),
        ({"bad_line": "x,1"}, ["part.csv", "line 17"]),
        ({"header": "v,n,wrong"}, ["part.csv", "day"]),
    ],
)
def test_bad_rows_fail_the_push_with_file_and_line(
    client: Client, table: str, folder: Path, first: dict[str, int], files: dict[str, str], said: list[str]
) -> None:
    write(folder, "good.csv", 10, "new")
    write(folder, "part.csv", 30, "new", **files)
    failed = finished(client, push(client, table, folder))
    assert failed["state"] == "FAILED"
    for word in said:
        assert word in failed["error"]
    unchanged(client, table, first)


def test_an_unreadable_file_is_named(client: Client, table: str, folder: Path, first: dict[str, int]) -> None:
    (folder / "noise.csv").write_bytes(b"\x1f\x8b" + os.urandom(200))
    failed = finished(client, push(client, table, folder))
    assert failed["state"] == "FAILED"
    assert "noise.csv" in failed["error"]
    unchanged(client, table, first)


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({"jobTypo": 1}, 400, "jobTypo"),
        ({"inputDirURI": "/etc"}, 403, "/etc"),
        ({"tableSpec": {"tableName": "nope"}}, 404, "nope"),
        ({"jobType": "Foo"}, 400, "Foo"),
        ({"includeFileNamePattern": "glob:**/*.none"}, 404, "none"),
    ],
)
def test_a_bad_specification_is_refused_at_once(
    client: Client, table: str, folder: Path, change: dict[str, Any], status: int, said: str
) -> None:
    write(folder, "a.csv", 3, "x")
    body = client.call("POST", "/api/v1/pushes", status, json={**spec(table, folder), **change}).json()
    assert said in body["error"]


def big_push(client: Client, table: str, folder: Path) -> str:
    for i in range(6):
        write(folder, f"big{i}.csv", 60_000, "new")
    push_id = push(client, table, folder)
    poll(lambda: state(client, push_id)["stage"] in ("BUILD", "START", "UPLOAD"), 60, "push under way")
    return push_id


def children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                found += [int(entry.name), *children(int(entry.name))]
    return found


def victims(installation: Installation, which: str) -> list[int]:
    """Process ids to kill."""
    pids = installation.endpoints["pids"]
    if which == "spark driver":
        return [
            p
            for p in children(pids["worker"])
            if b"java" in (Path("/proc") / str(p) / "cmdline").read_bytes().split(b"\0")[0]
        ]
    if which == "server":
        return [installation.endpoints["servers"][0]["pid"]]
    return [pids[which]]


@pytest.mark.parametrize("which", ["spark driver", "worker", "server", "web", "zookeeper"])
def test_a_process_killed_in_the_middle_of_a_push(
    client: Client, installation: Installation, table: str, folder: Path, first: dict[str, int], which: str
) -> None:
    push_id = big_push(client, table, folder)
    pids = victims(installation, which)
    assert pids, f"no {which} to kill"
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    killed = time.monotonic()

    def settled() -> object:
        installation.wait_healthy()
        return state(Client(installation.endpoints), push_id)["state"] in ("DONE", "FAILED")

    poll(settled, 90, f"push settled after the {which} was killed")
    assert time.monotonic() - killed < 90
    done = state(client, push_id)
    assert done["state"] == "DONE", done["error"]
    assert poll(lambda: client.counts(table), 20, "queries answer") == {"new": 360_000}
