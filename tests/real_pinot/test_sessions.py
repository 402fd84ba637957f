"""File ingestion sessions onto a real Pinot: nothing is visible before the one switch at the end, and a retry reads the
failed files only.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.integration.ingestion.test_sessions import Folder
from tests.integration.running import Client, Installation
from tests.real_pinot.test_pinot_cluster import new_table
from tests.waiting import poll

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(400)]


@pytest.fixture
def folder(each: Client, clusters: Installation, input_root: Path) -> Folder:
    """Of a table that shows the segments a1 and a2, and follows a folder of its own."""
    table = new_table(each, "fit")
    (input_root / table).mkdir()
    keys = {"inputDirURI": str(input_root / table), "consistentPushEnabled": "true", "ingestionMode": "SYNC"}
    found = Folder(clusters, each, table, keys)
    found.path = input_root / table
    return found


class Watching:
    """Every answer that queries get while the block runs."""

    def __init__(self, client: Client, table: str) -> None:
        self.seen: list[dict[str, int]] = []
        self._over = threading.Event()
        self._client, self._table = client, table
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        while not self._over.is_set():
            found = self._client.counts(self._table)
            if found not in self.seen:
                self.seen.append(found)

    def __enter__(self) -> Watching:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def entries(client: Client, table: str) -> list[dict[str, Any]]:
    """The lineage of a table; [] when it has none."""
    answer = client.http.get(f"{client.base}/segments/{table}/lineage", params={"type": "OFFLINE"}, timeout=60)
    return list((answer.json().get("lineageEntries") or {}).values()) if answer.ok and answer.text else []


def test_a_session_shows_all_its_files_in_one_switch_and_its_retry_reads_the_failed_one(
    each: Client, clusters: Installation, folder: Folder
) -> None:
    before = {"a1": 10, "a2": 10}
    for name, rows in (("F1", 10), ("F2", 20), ("F3", 30)):
        folder.put(name, rows, bad=name == "F3")
    first = folder.go()
    assert (first["state"], first["files"]["failed"]) == ("IN_PROGRESS", 1)
    assert (each.counts(folder.table), entries(each, folder.table)) == (before, [])
    folder.put("F3", 33)
    after = {**before, "F1": 10, "F2": 20, "F3": 33}
    with Watching(Client({**clusters.endpoints, "controller": each.base}), folder.table) as watching:
        second = folder.go(retry=1)
        poll(lambda: each.counts(folder.table) == after, 60, "all rows answer")
    assert (second["id"], second["state"], second["error"]) == (first["id"], "DONE", "")
    assert watching.seen in ([before, after], [after]), "nothing between the old and the new rows"
    (entry,) = entries(each, folder.table)
    assert (entry["state"], entry["segmentsFrom"], len(entry["segmentsTo"])) == ("COMPLETED", [], 3)
    address = f"/api/v1/tables/{folder.table}/ingestion/sessions/{first['id']}/files"
    files = each.call("GET", address).json()["files"]
    assert {Path(f["uri"]).name: f["attempts"] for f in files} == {"F1": 1, "F2": 1, "F3": 2}
    assert not list(clusters.folder.glob(f"**/Staging/{first['id']}"))


def test_the_next_session_replaces_what_changed_and_is_undone(each: Client, folder: Folder) -> None:
    for name in ("F1", "F2"):
        folder.put(name, 5)
    folder.go()
    folder.put("F1", 6, label="F1.1")
    (folder.path / "F2").unlink()
    done = folder.go()
    assert done["state"] == "DONE"
    old = {"a1": 10, "a2": 10}
    poll(lambda: each.counts(folder.table) == {**old, "F1.1": 6}, 60, "the changed file's rows answer")
    each.call("POST", f"/api/v1/tables/{folder.table}/ingestion/sessions/{done['id']}/undo")
    poll(lambda: each.counts(folder.table) == {**old, "F1": 5, "F2": 5}, 60, "the earlier rows are back")
