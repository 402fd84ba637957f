"""What goes on while parts die: pushes and a followed folder, each checked on its way and in the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import requests

from tests.background import Background
from tests.chaos.history_walk import Answers
from tests.integration.ingestion.test_sessions import Folder
from tests.integration.running import Client, Installation
from tests.integration.test_push import spec
from tests.scale.world import PUSHED_S
from tests.waiting import poll


class Pushes:
    """One push after the other into a REFRESH table; queries see the one before or the new one, whole."""

    TABLE = "refreshed"

    def __init__(self, endpoints: dict[str, Any], inputs: Path) -> None:
        self.client, self.answers = Client(endpoints), Answers(endpoints, self.TABLE)
        self.count, self.folder = 0, inputs / self.TABLE
        self.client.create(self.TABLE)
        self.background = Background(self.push, 0.5)

    def push(self) -> None:
        """Make it, again where the answer was lost, and see it to its end."""
        self.count += 1
        name, folder = f"p{self.count}", self.folder / f"p{self.count}"
        folder.mkdir(parents=True)
        (folder / "a.csv").write_text("v,n,day\n" + "".join(f"{name},{n},19000\n" for n in range(5)))
        before = list(self.answers.allowed[-1:]) or [{}]
        self.answers.allowed = [*before, {"all": name}]
        made = poll(lambda: self._made(name), 120, f"push {name} is made")
        over = poll(lambda: self._over(made), PUSHED_S, f"push {name} of id {made} is over")
        assert over["state"] == "DONE", over
        self.answers.allowed = [{"all": name}]
        poll(lambda: self.answers.now() == {name: 5}, 60, f"push {name} is seen")

    def _made(self, name: str) -> str:
        """Its id: from the answer, or, where that was lost, from the list."""
        listed = self.client.call("GET", "/api/v1/pushes", params={"tableName": self.TABLE}).json()
        for push in listed["pushes"]:
            if push["reason"] == name:
                return str(push["id"])
        body = {"spec": spec(self.TABLE, self.folder / name), "reason": name}
        return str(self.client.call("POST", "/api/v1/pushes", 201, json=body).json()["id"])

    def _over(self, made: str) -> dict[str, Any] | None:
        found: dict[str, Any] = self.client.call("GET", f"/api/v1/pushes/{made}").json()
        return found if found["state"] in ("DONE", "FAILED", "CANCELLED") else None


class Followed:
    """A folder that a file joins again and again; each is read once."""

    TABLE = "followed"

    def __init__(self, installation: Installation) -> None:
        self.client = Client(installation.endpoints)
        self.client.create(self.TABLE)
        keys = {"consistentPushEnabled": "true", "ingestionMode": "SYNC", "consistentPushMaxRetries": "50"}
        self.folder, self.rows = Folder(installation, self.client, self.TABLE, keys), dict[str, int]()
        self.background = Background(self.add, 1)

    def add(self) -> None:
        """One file more, until its rows are there."""
        name = f"F{len(self.rows)}"
        self.rows[name] = 5
        self.folder.put(name, 5)
        poll(self.is_whole, max(180.0, PUSHED_S), f"rows of {name}")

    def is_whole(self) -> bool:
        """Is each row of each file visible once? Otherwise the folder is read again, as a schedule does."""
        found = self.client.counts(self.TABLE)
        assert all(self.rows.get(name, 0) >= rows for name, rows in found.items()), f"doubled: {found}"
        if found != self.rows:
            try:
                self.folder.trigger()
            except requests.RequestException:
                return False
        return found == self.rows
