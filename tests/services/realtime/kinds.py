"""A realtime table on each kind of cluster: what the cluster holds, and the context that drives it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from segments.services.core.context import Context
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.services.realtime_world import RealtimeWorld
from tests.services.world import World

EMBEDDED: Final = "embedded"
#: Our own cluster, the newest Pinot whose controller was tried, and the oldest.
KINDS: Final = (EMBEDDED, "1.5.1", "0.11.0")


@dataclass(frozen=True)
class Kind:
    """``name`` is one of KINDS. ``inside`` changes as servers and other people change it, ``ctx`` is ours."""

    name: str
    ctx: Context
    inside: RealtimeWorld


def kind_of(name: str, folder: Path, *, partitions: int = 2, topics: int = 1) -> Kind:
    """A cluster of this kind; a table of several topics has one partition in each."""
    if name == EMBEDDED:
        world = RealtimeWorld(folder, partitions=partitions, topics=topics)
        return Kind(name, world.ctx, world)
    pinot = realtime_pinot(folder, name, partitions=partitions, topics=topics)
    return Kind(name, pinot.ctx, cast(RealtimeWorld, pinot.inside))


def realtime_pinot(folder: Path, version: str, *, partitions: int = 1, topics: int = 1) -> PinotCluster:
    """A Pinot of this version in which the table ``t`` consumes."""
    inside = RealtimeWorld(folder / "pinot", partitions=partitions, topics=topics)
    cluster = PinotCluster(folder, version=version, inside=cast(World, inside))
    cluster.rest.has_jobs = not version.startswith("0.")
    return cluster
