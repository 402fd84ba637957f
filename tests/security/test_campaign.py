"""A campaign of generated requests over every operation: no answer of 5xx, none that the OpenAPI document does not
describe, none slow.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from segments import wiring
from segments.errors import Unavailable
from tests.api.replacement.test_lineage import FakeServers
from tests.security.campaign import Campaign


class Servers(FakeServers):
    """Servers do not answer any other call."""

    def __getattr__(self, name: str) -> Any:
        def fail(*_: Any, **__: Any) -> Any:
            raise Unavailable("The server does not answer.")

        return fail


REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "2000"))
SEED = int(os.environ.get("FUZZ_SEED", "20"))


@pytest.mark.timeout(3600)
def test_no_generated_request_meets_a_fault_of_ours(
    tmp_path: Path, db: None, tasks: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wiring, "servers", Servers)
    monkeypatch.setattr("segments.clusters.embedded.tables.removal._LET_GO_S", 0.1)
    found = Campaign(tmp_path, SEED).run(REQUESTS, os.environ.get("FUZZ_ONLY", ""))
    sys.stdout.write(f"{found.requests} requests, seed {SEED}: {dict(sorted(found.statuses.items()))}\n")
    told = "\n\n".join(f"== {what}\n{how}" for what, how in sorted(found.faults.items()))
    assert not found.faults, f"{len(found.faults)} kinds of faults, seed {SEED}:\n{told}"
    assert found.requests >= REQUESTS // 2
