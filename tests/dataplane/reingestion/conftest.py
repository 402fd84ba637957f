"""A table of ten-row segments on two servers, and a way to lose a segment everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segments.services.core import audit
from tests.dataplane.consuming_world import ConsumingWorld
from tests.dataplane.reingestion.lost import audited


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, dict[str, Any]]]:
    """(action, outcome, detail) of what would be in the audit record; the database is another thread's here."""
    found: list[tuple[str, str, dict[str, Any]]] = []
    monkeypatch.setattr(audit, "record", audited(found))
    return found


@pytest.fixture
def world(tmp_path: Path, events: object) -> Iterator[ConsumingWorld]:
    """An empty cluster."""
    made = ConsumingWorld(tmp_path)
    yield made
    made.close()
