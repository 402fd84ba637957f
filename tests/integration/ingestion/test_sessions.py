"""File ingestion through the whole installation: REST, a Celery worker and Spark read a folder into a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.integration.running import DAY0, Client, Installation, config_of
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


def csv(label: str, rows: int, *, bad: bool = False) -> str:
    """The text of a file; ``bad``: none of its rows can be read."""
    return "\n".join(["v,n,day", *(f"{label},{'none' if bad else n},{DAY0}" for n in range(rows)), ""])


class Folder:
    """A folder of CSV files whose rows name their file, and the table that ingests it."""

    def __init__(self, installation: Installation, client: Client, table: str, keys: Mapping[str, str]) -> None:
        self.client, self.table = client, table
        self.path = installation.folder / "input" / table
        self.path.mkdir(parents=True)
        self.configure(**keys)

    def configure(self, **keys: str) -> None:
        """Save the table config with a task of these keys."""
        config = config_of(self.table)
        config["ingestionConfig"]["batchIngestionConfig"] = {"segmentIngestionType": "APPEND"}
        given = {"inputDirURI": str(self.path), "inputFormat": "csv", "consistentPushMaxRetries": "3", **keys}
        config["task"] = {"taskTypeConfigsMap": {"FileIngestionTask": given}}
        self.client.call("PUT", f"/tables/{self.table}", json=config)

    def put(self, name: str, rows: int, *, label: str = "", bad: bool = False) -> None:
        part = self.path / f".{name}"
        part.write_text(csv(label or name, rows, bad=bad))
        part.rename(self.path / name)

    def trigger(self) -> dict[str, Any]:
        answer: dict[str, Any] = self.client.http.post(
            f"{self.client.base}/api/v1/tables/{self.table}/ingestion/trigger", timeout=60
        ).json()
        return answer

    def ended(self, session: str, retry: int = 0, seconds: float = 100) -> dict[str, Any]:
        """The session once its run is over."""

        def is_over() -> dict[str, Any] | None:
            response = self.client.http.get(
                f"{self.client.base}/api/v1/tables/{self.table}/ingestion/sessions/{session}", timeout=60
            )
            found: dict[str, Any] = response.json()
            is_idle = response.ok and not found["currentTaskName"] and found["retryCount"] == retry
            return found if is_idle and found["state"] != "INIT" else None

        return poll(is_over, seconds, f"the run of {session} is over") or {}

    def go(self, retry: int = 0) -> dict[str, Any]:
        """A trigger and its run."""
        answer = self.trigger()
        assert answer["sessionId"], answer
        return self.ended(answer["sessionId"], retry)


def test_all_scenes_in_one_folder(installation: Installation, client: Client, table: str) -> None:
    folder = Folder(installation, client, table, {"consistentPushEnabled": "true", "ingestionMode": "SYNC"})
    folder.put("F0", 5)
    assert folder.go()["state"] == "DONE"
    for name, rows, bad in (("F1", 10, False), ("F2", 20, False), ("F3", 30, True), ("F4", 40, True), ("F5", 50, True)):
        folder.put(name, rows, bad=bad)
    first = folder.go()
    assert (first["state"], first["retryCount"]) == ("IN_PROGRESS", 0)
    assert client.counts(table) == {"F0": 5}, "scene 1: nothing is visible while files fail"
    folder.put("F6", 60)
    folder.put("F3", 33, label="F3.1")
    folder.put("F1", 11, label="F1.1")
    (folder.path / "F2").unlink()
    (folder.path / "F5").unlink()
    folder.put("F4", 40)
    second = folder.go(retry=1)
    assert (second["state"], second["error"]) == ("DONE", "")
    assert client.counts(table) == {"F0": 5, "F1": 10, "F3.1": 33, "F4": 40, "F6": 60}, "scenes 2 to 6"
    third = folder.go()
    assert third["state"] == "DONE"
    assert client.counts(table) == {"F0": 5, "F1.1": 11, "F3.1": 33, "F4": 40, "F6": 60}, "scene 4, the next session"
    assert folder.trigger() == {
        "sessionId": None, "why": "Nothing changed in the input folder.", "isBusy": False, "notes": []
    }  # fmt: skip
