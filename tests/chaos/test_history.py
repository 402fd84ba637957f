"""A random walk through a table's history while processes are killed: every answer is one state of it, and nothing is
doubled or lost.

Pushes, refreshes by name, rollbacks over one or several steps, undos, deletions and restores, one after the other;
HISTORY_SECONDS is half a minute by default, ``make chaos`` sets five. A failure names its seed; CHAOS_SEED repeats a
run's choices.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from tests.chaos.history_walk import Walk
from tests.integration.running import Installation

pytestmark = pytest.mark.integration

SECONDS = float(os.environ.get("HISTORY_SECONDS", "30"))
SEED = int(os.environ.get("CHAOS_SEED", str(random.SystemRandom().randrange(10**6))))


@pytest.mark.timeout(SECONDS + 300)
def test_whatever_is_killed_queries_see_one_state_of_the_history_and_nothing_is_lost(tmp_path: Path) -> None:
    installation = Installation(tmp_path / "data").start()
    try:
        walk = Walk(installation, SEED)
        walk.begin()
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            walk.step()
        walk.answers.background.stop()
        print(f"seed {SEED}: {len(walk.done)} steps, {walk.answers.whole} whole answers: {', '.join(walk.done)}")  # noqa: T201  # shown by -s
        assert not walk.answers.wrong, f"seed {SEED} after {walk.done}: {walk.answers.wrong[:3]}"
        assert walk.answers.whole > SECONDS
    finally:
        installation.stop()
