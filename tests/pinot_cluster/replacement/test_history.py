"""The history of a table of a Pinot cluster: what its lineage shows is a snapshot each, with who and why where it was
done through us, and one button goes back.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.clusters.pinot.connected_engine import controller
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster, Snapshot
from segments.services.replacement.history.as_of import query_as_of
from segments.services.replacement.history.causes import causes_of
from segments.services.replacement.history.going_back import preview_return, return_to
from segments.services.replacement.history.snapshots import contents_of
from segments.services.replacement.history.standing import standings
from segments.services.segments import deletion, uploads
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.pinot_cluster.replacement.test_replacement import replaced
from tests.push.pushing import PushWorld
from tests.services.segments.kinds import keep_copies, tar
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


@pytest.fixture
def mirror(pinot: PinotCluster) -> ClusterFollower:
    """It has seen segment a."""
    follower = ClusterFollower(pinot.ctx.store, Cluster.objects.create(name="prod", kind="pinot"))
    follower.sync_all()
    return follower


def listed() -> list[tuple[int, str, list[str]]]:
    """(number, what made it, its segments), oldest first."""
    return [(s.number, s.kind, sorted(contents_of(s))) for s in Snapshot.objects.order_by("number")]


def test_each_push_is_a_snapshot_with_who_and_why_and_one_button_goes_back(
    pinot: PinotCluster, mirror: ClusterFollower
) -> None:
    for old, new in (("a", "b"), ("b", "c")):
        replaced(pinot, [old], [new])
        mirror.sync_all()
    assert listed() == [(1, "first", ["a"]), (2, "switch", ["b"]), (3, "switch", ["c"])]
    causes = causes_of(list(Snapshot.objects.all()))
    assert {n: (c.actor, c.reason) for n, c in causes.items()} == dict.fromkeys((2, 3), (ANN.name, ANN.reason))
    left = standings(pinot.ctx, TABLE, [3, 2, 1])
    assert [left[n].state for n in (3, 2, 1)] == ["present", "served", "served"]
    assert preview_return(pinot.ctx, TABLE, 2).allowed
    return_to(pinot.ctx, TABLE, 2, actor=ANN)
    mirror.sync_all()
    assert (pinot.visible, listed()[-1]) == (["b"], (4, "rollback", ["b"]))


def test_what_others_do_past_us_is_a_snapshot_too_and_names_nobody(
    pinot: PinotCluster, mirror: ClusterFollower
) -> None:
    entry = replaced(pinot, ["a"], ["b"])
    mirror.sync_all()
    query = {"type": "OFFLINE", "segmentLineageEntryId": entry, "forceRevert": "false"}
    controller(pinot.ctx).send("POST", f"/segments/{TABLE.raw}/revertReplaceSegments", query)
    mirror.sync_all()
    assert listed()[-1] == (3, "rollback", ["a"])
    assert causes_of(list(Snapshot.objects.filter(number=3))) == {}


def test_a_snapshot_that_was_deleted_through_us_is_read_from_the_copies_that_were_kept(tmp_path: Path) -> None:
    cluster = PinotCluster(tmp_path, inside=PushWorld(tmp_path / "pushes"))
    keep_copies(cluster.inside)
    follower = ClusterFollower(cluster.ctx.store, Cluster.objects.create(name="prod", kind="pinot"))
    uploads.upload_tar(cluster.ctx, TABLE, tar(tmp_path, "new"), actor=ANN)
    follower.sync_all()
    deletion.remove_segments(cluster.ctx, TABLE, ["new"], actor=ANN)
    follower.sync_all()
    first = Snapshot.objects.order_by("number")[0].number
    assert standings(cluster.ctx, TABLE, [first])[first].state == "kept"
    answer = query_as_of(cluster.ctx, "select max(n), count(*) from t", {}, str(first))
    assert not answer.get("exceptions"), answer
    assert answer["resultTable"]["rows"] == [[1, 1]]
