"""Fixtures of the API tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segments import wiring
from tests.api.cluster import ApiCluster


@pytest.fixture
def cluster(tmp_path: Path, db: None, settings: Any) -> Iterator[ApiCluster]:
    """A fresh cluster in memory, reached over the API's addresses."""
    settings.ROOT_URLCONF = "segments.api.urls"
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    made = ApiCluster(tmp_path)
    with wiring.use(made.ctx, made.broker):
        yield made


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[Any]]]:
    """Tasks that were handed to the workers: (name, arguments)."""
    sent: list[tuple[str, list[Any]]] = []
    monkeypatch.setattr("segments.api.task_queue.current_app.send_task", lambda name, args, **_: sent.append((name, args)))
    return sent
