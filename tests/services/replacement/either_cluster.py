"""One cluster of either kind, so that the same tests of replacements run over both.

What differs in kind: Pinot chooses the id of an entry (whatever id the caller gives), deletes the new side of a revert
at once, and deletes a forced push's older snapshot at its start, so tests of when we delete are of the embedded
cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from segments.models import AuditEvent
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.protocol import end_replace, start_replace
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.services.world import ANN, TABLE, World

KINDS = ("embedded", "pinot")


@dataclass
class EitherCluster:
    """Table t (REFRESH). ``ctx`` is the context of the kind; ``world`` is what holds the state: the embedded cluster
    itself, or what a Pinot holds behind its REST.
    """

    kind: str
    world: World
    ctx: Context
    pinot: PinotCluster | None = None

    def start(
        self,
        old: Sequence[str],
        new: Sequence[str],
        *,
        force: bool = False,
        entry_id: str | None = None,
        custom_map: Mapping[str, str] | None = None,
    ) -> str:
        """The id of the entry, a second later than anything before."""
        self.world.now += 1000
        return start_replace(
            self.ctx, TABLE, old, new, force_cleanup=force, actor=ANN, entry_id=entry_id, custom_map=custom_map
        )

    def replace(self, old: Sequence[str], new: Sequence[str], *, force: bool = False) -> str:
        """Start, upload, end; the id of the entry."""
        entry = self.start(old, new, force=force)
        self.upload(*new)
        end_replace(self.ctx, TABLE, entry, actor=ANN)
        return entry

    def upload(self, *segments: str, online: bool = True) -> EitherCluster:
        """As ``World.upload``."""
        self.world.upload(*segments, online=online)
        return self

    def waiting(self, replicas_online_s: float) -> EitherCluster:
        """An end or a revert waits for so many seconds."""
        for owner in (self, self.world):
            owner.ctx = replace(owner.ctx, limits=replace(owner.ctx.limits, replicas_online_s=replicas_online_s))
        return self

    @property
    def visible(self) -> list[str]:
        """Segments that queries see."""
        return self.world.visible

    @property
    def ideal(self) -> list[str]:
        """Segments of the ideal state."""
        return self.world.ideal

    def state(self, entry: str) -> str:
        """State of an entry, as the context reads it."""
        return observe(self.ctx, TABLE).lineage.entry(entry).state.value

    @property
    def events(self) -> list[AuditEvent]:
        """What was recorded of this cluster, oldest first; a fake Pinot records its own as those of another."""
        return list(AuditEvent.objects.filter(cluster=self.ctx.cluster).order_by("id"))


def either_cluster(kind: str, folder: Path) -> EitherCluster:
    """A cluster of this kind with an empty table."""
    if kind == "embedded":
        world = World(folder / "store")
        return EitherCluster(kind, world, world.ctx)
    pinot = PinotCluster(folder)
    return EitherCluster(kind, pinot.inside, pinot.ctx, pinot)
