"""A table that takes in single files, and people who send them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from segments import wiring
from segments.models import Push
from segments.services.push import upload_folders
from segments.services.push.push_run import run_push
from tests.api.cluster import basic
from tests.factories import CLUSTER
from tests.push.pushing import PushWorld
from tests.services.world import TABLE
from tests.task_queue import FakeQueue

CSV = json.dumps({"inputFormat": "csv"})
ROWS = "city,n,day\nRom,1,17000\nBern,2,17001\n"
APPEND = {"segmentIngestionType": "APPEND", "consistentDataPush": False}
NAMES = ("root", "mia", "eva")


class Api:
    """A table whose pushes are carried out as soon as they are queued, asked by people with passwords."""

    def __init__(self, folder: Path, batch: dict[str, Any]) -> None:
        self.world = PushWorld(folder, batch=batch)
        self.folder, self.is_idle = folder, False
        self.queue = FakeQueue(work=self._work)
        self.ctx = replace(self.world.ctx, cluster=CLUSTER, queue=self.queue)
        User.objects.create_superuser("root", password="a long enough secret")
        self.people = {name: Client(headers={"Authorization": basic(name, "a long enough secret")}) for name in NAMES}

    def _work(self, push: str) -> None:
        if not self.is_idle:
            run_push(self.ctx, push, "me", builder=self.world.builder)

    def send(self, rows: str | bytes = ROWS, *, who: str = "root", **query: str) -> Any:
        """A file in a form."""
        data = rows if isinstance(rows, bytes) else rows.encode()
        asked = {"tableNameWithType": TABLE.typed, "batchConfigMapStr": CSV, **query}
        form = {"file": SimpleUploadedFile("rows.csv", data)}
        return self.people[who].post("/ingestFromFile", form, query_params=asked)

    def fetch(self, uri: str, **query: str) -> Any:
        """A file at an address."""
        asked = {"tableNameWithType": TABLE.typed, "batchConfigMapStr": CSV, "sourceURIStr": uri, **query}
        return self.people["root"].post("/ingestFromURI", query_params=asked)

    @property
    def uploads(self) -> list[str]:
        found = upload_folders.root()
        return sorted(str(p.relative_to(found)) for p in found.rglob("*")) if found.is_dir() else []

    @property
    def rows(self) -> int:
        return sum(Push.objects.filter(state="DONE").values_list("rows", flat=True))


@pytest.fixture
def api(tmp_path: Path, request: pytest.FixtureRequest, settings: Any) -> Iterator[Api]:
    settings.DATA_DIR = tmp_path / "data"
    settings.INPUT_ROOTS = [str(tmp_path / "in")]
    found = Api(tmp_path, getattr(request, "param", APPEND))
    with wiring.use(found.ctx):
        yield found
