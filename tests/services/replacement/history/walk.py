"""A table that is pushed, rolled back, undone, cleaned and uploaded to at random; a mirror follows each step."""

from __future__ import annotations

from pathlib import Path
from random import Random

from segments.errors import PinotAdminError
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster, Snapshot
from segments.services.replacement.history.going_back import preview_return, return_to
from segments.services.replacement.history.snapshots import contents_of
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.rollback import roll_back
from segments.services.replacement.undo.planning import open_rollbacks
from segments.services.replacement.undo.rollback import undo_rollback
from segments.services.segments import archive, deletion
from tests.services.replacement.undo.serving import ServingWorld
from tests.services.world import ANN, TABLE

OPS = ("push", "push", "push", "replace", "upload", "delete", "rollback", "undo", "clean", "lose", "go", "go")


class Walk:
    """``seed`` decides every step. ``taken``: what was done, for the message of a failure."""

    def __init__(self, folder: Path, seed: int, kind: str) -> None:
        self.random, self.world = Random(seed), ServingWorld(folder, kind=kind)
        self.mirror = ClusterFollower(self.world.memory, Cluster.objects.create(name=f"walk-{seed}-{kind}"))
        object.__setattr__(self.world.ctx, "cluster", f"walk-{seed}-{kind}")
        self.names = iter(f"s{n}" for n in range(10_000))
        self.ids = iter(f"entry{n}" for n in range(10_000))
        self.taken: list[str] = []
        self.went, self.refused = 0, 0
        self.world.upload(next(self.names))
        self.mirror.sync_all()

    def step(self) -> None:
        """Do something at random; what the cluster refuses is nothing done."""
        op = self.random.choice(OPS)
        self.taken.append(op)
        self.world.now += 1000
        try:
            getattr(self, f"_{op}")()
        except PinotAdminError as error:
            self.taken[-1] += f" ({error})"
        deletion.drain(self.world.ctx, TABLE)
        self.mirror.sync_all()

    @property
    def present(self) -> list[str]:
        """The newest snapshot of the history."""
        newest = self.rows.first()
        return sorted(contents_of(newest)) if newest else []

    @property
    def rows(self) -> object:
        """All snapshots, newest first."""
        return Snapshot.objects.filter(cluster__name=self.world.ctx.cluster)

    def _push(self) -> None:
        self.world.push(
            next(self.ids), self.world.visible, [next(self.names) for _ in range(self.random.randint(1, 2))]
        )

    def _replace(self) -> None:
        self.world.push(next(self.ids), self.world.visible[:1], [next(self.names)])

    def _upload(self) -> None:
        self.world.upload(next(self.names))

    def _delete(self) -> None:
        deletion.delete_segments(self.world.ctx, TABLE, self.world.visible[-1:], actor=ANN)

    def _rollback(self) -> None:
        lineage = observe(self.world.ctx, TABLE).lineage
        entry = self.random.choice([e.id for e in lineage.in_order()] or ["none"])
        roll_back(self.world.ctx, TABLE, entry, actor=ANN)

    def _undo(self) -> None:
        found = open_rollbacks(self.world.ctx, TABLE)
        undo_rollback(self.world.ctx, TABLE, found[0].target if found else "none", actor=ANN)

    def _clean(self) -> None:
        self.world.now += 86_400_000
        self.world.clean()

    def _lose(self) -> None:
        """The oldest kept file is gone."""
        kept, _ = archive.list_kept(self.world.ctx, TABLE)
        if kept:
            root = self.world.ctx.deep_store.local_root
            assert root is not None
            for file in root.rglob(kept[-1].file):
                file.unlink()

    def _go(self) -> None:
        rows = list(self.rows)  # type: ignore[call-overload]
        row = self.random.choice(rows)
        wanted, before = sorted(contents_of(row)), self.world.visible
        preview = preview_return(self.world.ctx, TABLE, row.number)
        self.taken[-1] = f"go to {row.number} from {rows[0].number}: {preview.steps or preview.blockers}"
        if not preview.allowed:
            self.refused += 1
            assert wanted == before or preview.blockers, self.taken
            return
        return_to(self.world.ctx, TABLE, row.number, actor=ANN)
        self.went += 1
        assert self.world.visible == wanted, self.taken
        self.mirror.sync_all()
        back = preview_return(self.world.ctx, TABLE, preview.present)
        assert back.allowed, (self.taken, back)
