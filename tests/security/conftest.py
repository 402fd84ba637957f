"""The installation as an attacker meets it: all addresses, in memory, with a cluster of one table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segments import wiring
from tests.api.cluster import ApiCluster


@pytest.fixture
def cluster(tmp_path: Path, db: None, settings: Any) -> Iterator[ApiCluster]:
    """A fresh cluster in memory behind all addresses of the installation."""
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
