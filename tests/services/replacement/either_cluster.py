"""One cluster of either kind, so that the same tests of replacements run over both, and over a real Pinot.

What differs in kind: Pinot chooses the id of an entry (whatever id the caller gives), deletes the new side of a revert
at once, and deletes a forced push's older snapshot at its start, so tests of when we delete are of the embedded
cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from segments.models import AuditEvent
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.protocol import end_replace, start_replace
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.services.world import ANN, TABLE, World

KINDS = ("embedded", "pinot")


class EitherCluster:
    """A REFRESH ``table`` of a cluster, and the context of that kind that drives it."""

    def __init__(self, ctx: Context, table: TableName) -> None:
        self.ctx, self.table = ctx, table

    def start(
        self,
        old: Sequence[str],
        new: Sequence[str],
        *,
        force: bool = False,
        entry_id: str | None = None,
        custom_map: Mapping[str, str] | None = None,
    ) -> str:
        """The id of the entry."""
        return start_replace(
            self.ctx, self.table, old, new, force_cleanup=force, actor=ANN, entry_id=entry_id, custom_map=custom_map
        )

    def replace(self, old: Sequence[str], new: Sequence[str], *, force: bool = False) -> str:
        """Start, upload, end; the id of the entry."""
        entry = self.start(old, new, force=force)
        self.upload(*new)
        end_replace(self.ctx, self.table, entry, actor=ANN)
        return entry

    def upload(self, *segments: str) -> EitherCluster:
        """Segments of ten rows each, online."""
        raise NotImplementedError

    @property
    def visible(self) -> list[str]:
        """Segments that queries see."""
        raise NotImplementedError

    @property
    def ideal(self) -> list[str]:
        """Segments of the ideal state."""
        return sorted(observe(self.ctx, self.table).ideal.maps)

    def state(self, entry: str) -> str:
        """State of an entry, as the context reads it."""
        return observe(self.ctx, self.table).lineage.entry(entry).state.value

    @property
    def events(self) -> list[AuditEvent]:
        """What was recorded of this cluster, oldest first; a fake Pinot records its own as those of another."""
        return list(AuditEvent.objects.filter(cluster=self.ctx.cluster).order_by("id"))


class SimulatedCluster(EitherCluster):
    """Table t; ``world`` is what holds the state, and a test may change it as servers do: the embedded cluster itself,
    or what a Pinot holds behind its REST.
    """

    def __init__(self, world: World, pinot: PinotCluster | None = None) -> None:
        super().__init__(pinot.ctx if pinot else world.ctx, TABLE)
        self.world, self.pinot = world, pinot

    def start(self, old: Sequence[str], new: Sequence[str], **more: object) -> str:
        """As ``EitherCluster.start``, a second later than anything before."""
        self.world.now += 1000
        return super().start(old, new, **more)  # type: ignore[arg-type]

    def upload(self, *segments: str, online: bool = True) -> SimulatedCluster:
        """As ``World.upload``."""
        self.world.upload(*segments, online=online)
        return self

    def waiting(self, replicas_online_s: float) -> SimulatedCluster:
        """An end or a revert waits for so many seconds."""
        for owner in (self, self.world):
            owner.ctx = replace(owner.ctx, limits=replace(owner.ctx.limits, replicas_online_s=replicas_online_s))
        return self

    @property
    def visible(self) -> list[str]:
        """Segments that queries see, by the lineage inside."""
        return self.world.visible

    @property
    def ideal(self) -> list[str]:
        """Segments of the ideal state inside."""
        return self.world.ideal


def either_cluster(kind: str, folder: Path) -> SimulatedCluster:
    """A cluster of this kind with an empty table."""
    if kind == "embedded":
        return SimulatedCluster(World(folder / "store"))
    pinot = PinotCluster(folder)
    return SimulatedCluster(pinot.inside, pinot)
