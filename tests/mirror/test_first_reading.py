"""What the mirror reads in parts: all of it is written in the end, and pages can say how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from segments.domain.tables.table_config import parse_table_config
from segments.errors import Unavailable
from segments.mirror import cluster_follower as follower_module
from segments.mirror import progress
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster
from segments.store import paths
from tests.mirror.test_cluster_follower import Reads, names
from tests.services.world import World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "store").upload("a", "z")


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="test")


def test_rows_of_which_zookeeper_gave_only_a_part_are_all_written_later(
    world: World, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower_module, "_AT_ONCE", 2)
    reads = Reads(world)
    follower = ClusterFollower(reads, cluster)
    follower.sync_all()
    world.upload("b", "c", "d", "e")
    lost = [False]

    def lose(paths: Sequence[str]) -> None:
        if not lost[0] and any(path.endswith("/d") for path in paths):
            lost[0] = True
            raise Unavailable("ZooKeeper is not there.")

    reads.then = lose
    with pytest.raises(Unavailable):
        follower.sync_all()
    follower.sync_all()
    assert names() == ["a", "b", "c", "d", "e", "z"]


def test_how_far_the_first_reading_is_stands_in_the_row_of_the_cluster_until_it_is_through(
    world: World, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_QUIET_S", 0.0)
    for name in ("u", "v"):
        body = {"tableName": name, "tableType": "OFFLINE", "segmentsConfig": {"replication": "1"}}
        config = parse_table_config({**body, "tableIndexConfig": {}, "tenants": {}, "metadata": {}})
        world.memory.create(paths.table_config(f"{name}_OFFLINE"), config.to_record())
    seen, reads = list[str](), Reads(world)
    reads.then = lambda _: seen.append(Cluster.objects.get().mirror_progress)
    ClusterFollower(reads, cluster).sync_all()
    assert "1 of 3 tables" in seen
    assert Cluster.objects.get().mirror_progress == ""
