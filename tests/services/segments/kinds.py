"""A table of segments on each kind of cluster: what the cluster holds, and the context that drives it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from segments.domain.segments.archive import KEEP_COPIES
from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import CONSISTENT_PUSH, parse_table_config
from segments.models import AuditEvent
from segments.names import TableName
from segments.segmentfile import build_segment
from segments.segmentfile.packed.tar import write_tar
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import observe
from segments.services.segments import deletion
from segments.store import paths
from segments.store.update import update_record
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.push.pushing import SCHEMA, PushWorld, config
from tests.services.world import TABLE, World

EMBEDDED: Final = "embedded"
KINDS: Final = (EMBEDDED, "pinot")


class Kind:
    """A REFRESH ``table`` with a schema on one kind of cluster; ``ctx`` is ours. What is deleted is kept."""

    def __init__(self, ctx: Context, table: TableName) -> None:
        self.ctx, self.table = ctx, table

    #: What was sent to a simulated controller so far.
    sent: Sequence[str] = ()

    @property
    def visible(self) -> list[str]:
        """Segments that queries see."""
        raise NotImplementedError

    @property
    def ideal(self) -> list[str]:
        """Segments of the ideal state."""
        return sorted(observe(self.ctx, self.table).ideal.maps)

    @property
    def events(self) -> list[AuditEvent]:
        """What was recorded of this cluster, oldest first; the fake Pinot records its own as those of another."""
        return list(AuditEvent.objects.filter(cluster=self.ctx.cluster).order_by("id"))

    def put_away(self) -> None:
        """What was deleted leaves servers, and its file its place."""
        raise NotImplementedError

    def later(self) -> None:
        """What happens now is later than what happened before."""
        raise NotImplementedError


class SimulatedKind(Kind):
    """Table t; ``inside`` holds the state."""

    def __init__(self, ctx: Context, inside: PushWorld) -> None:
        super().__init__(ctx, TABLE)
        self.inside = inside

    @property
    def visible(self) -> list[str]:
        """Segments that queries see, by the lineage inside."""
        return self.inside.visible

    def put_away(self) -> None:
        """As ``Kind.put_away``, by one pass."""
        self.inside.serve()
        deletion.drain(self.ctx, self.table)

    def later(self) -> None:
        """A second."""
        self.inside.now += 1000


def kind_of(name: str, folder: Path) -> SimulatedKind:
    """A cluster of this kind; the fake Pinot keeps copies of what is deleted."""
    inside = PushWorld(folder / "pushes")
    keep_copies(inside)
    if name == EMBEDDED:
        return SimulatedKind(inside.ctx, inside)
    pinot = PinotCluster(folder, inside=inside)
    kind = SimulatedKind(pinot.ctx, inside)
    kind.sent = pinot.rest.changes
    return kind


def keep_copies(world: World) -> None:
    """The table asks for copies of what is deleted from a Pinot."""
    body = parse_table_config(keeping())
    update_record(world.memory, paths.table_config(TABLE.typed), lambda _: body.to_record())


def keeping() -> dict[str, Any]:
    """The config of a table that asks for copies; 0.11.0 forgets ``consistentDataPush``, which it does not know."""
    return config(metadata={"customConfigs": {KEEP_COPIES: "true", CONSISTENT_PUSH: "true"}})


def tar(folder: Path, name: str, value: int = 1) -> Path:
    """A segment with one row."""
    work = folder / f"build-{name}-{value}"
    work.mkdir(exist_ok=True)
    data = pa.table({"city": ["Bern"], "n": pa.array([value], pa.int32()), "day": pa.array([19_000], pa.int32())})
    build_segment(
        data, parse_schema(SCHEMA), parse_table_config(config()), name, work, creation_time_ms=1_700_000_000_000
    )
    write_tar(work / name, work / "segment.tar.gz")
    return work / "segment.tar.gz"
