"""Ends of which the new side is to be all that queries see (``strictSnapshot``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.errors import StateConflict
from segments.services.replacement.protocol import end_replace, start_replace
from tests.services.replacement.either_cluster import EitherCluster
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db


def test_an_end_that_must_be_whole_is_refused_on_every_kind_of_cluster(cluster: EitherCluster) -> None:
    entry = cluster.upload("a").start(["a"], ["b"])
    cluster.upload("b", "x")
    with pytest.raises(StateConflict, match="next to its new segments: x") as refused:
        end_replace(cluster.ctx, cluster.table, entry, actor=ANN, strict=True)
    assert (refused.value.data["segments"], cluster.state(entry)) == (["x"], "IN_PROGRESS")
    assert cluster.visible == ["a", "x"]
    assert end_replace(cluster.ctx, cluster.table, entry, actor=ANN) == ["x"]
    assert cluster.visible == ["b", "x"]
    assert end_replace(cluster.ctx, cluster.table, entry, actor=ANN, strict=True) == ["x"], "it is switched already"


def test_a_segment_that_comes_in_while_the_end_waits_is_found_too(tmp_path: Path) -> None:
    world = World(tmp_path / "store")
    world.upload("a")
    entry = start_replace(world.ctx, TABLE, ["a"], ["b"], actor=ANN)
    world.upload("b")
    with pytest.raises(StateConflict, match="next to its new segments: late"):
        end_replace(world.ctx, TABLE, entry, actor=ANN, strict=True, progress=lambda *_: world.upload("late") and None)
    assert world.visible == ["a", "late"]
