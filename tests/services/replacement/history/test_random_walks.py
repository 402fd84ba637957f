"""Random walks of pushes, rollbacks, undos, clean-ups and returns: the newest snapshot of the history is what queries
see, and going to any snapshot that can be gone to shows exactly its segments.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.services.replacement.history.walk import Walk

pytestmark = pytest.mark.django_db

#: ``HISTORY_WALKS=200`` tries more.
SEEDS = int(os.environ.get("HISTORY_WALKS", "4"))


@pytest.mark.parametrize("kind", ["REFRESH", "APPEND"])
def test_the_newest_snapshot_is_what_queries_see_and_a_return_shows_exactly_its_snapshot(
    tmp_path: Path, kind: str
) -> None:
    went = refused = 0
    for seed in range(SEEDS):
        walk = Walk(tmp_path / str(seed), seed, kind)
        for _ in range(20):
            walk.step()
            assert walk.present == walk.world.visible, (seed, walk.taken)
        went, refused = went + walk.went, refused + walk.refused
    assert went >= SEEDS, (went, refused)  # else the walks show nothing
