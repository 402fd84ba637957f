"""A table of segments on each kind of cluster: what the cluster holds, and the context that drives it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from segments.domain.segments.archive import KEEP_COPIES
from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.models import AuditEvent
from segments.segmentfile import build_segment
from segments.segmentfile.packed.tar import write_tar
from segments.services.core.context import Context
from segments.services.segments import deletion
from segments.store import paths
from segments.store.update import update_record
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.push.pushing import SCHEMA, PushWorld, config
from tests.services.world import TABLE, World

EMBEDDED: Final = "embedded"
KINDS: Final = (EMBEDDED, "pinot")


@dataclass(frozen=True)
class Kind:
    """``inside`` holds the state, ``ctx`` is ours. Table t (REFRESH) has a schema; what is deleted is kept."""

    name: str
    ctx: Context
    inside: PushWorld

    @property
    def events(self) -> list[AuditEvent]:
        """What was recorded of this cluster, oldest first; the fake Pinot records its own as those of another."""
        return list(AuditEvent.objects.filter(cluster=self.ctx.cluster).order_by("id"))

    def put_away(self) -> None:
        """What was deleted leaves servers, and its file its place."""
        self.inside.serve()
        deletion.drain(self.ctx, TABLE)


def kind_of(name: str, folder: Path) -> Kind:
    """A cluster of this kind; the fake Pinot keeps copies of what is deleted."""
    inside = PushWorld(folder / "pushes")
    keep_copies(inside)
    if name == EMBEDDED:
        return Kind(name, inside.ctx, inside)
    return Kind(name, PinotCluster(folder, inside=inside).ctx, inside)


def keep_copies(world: World) -> None:
    """The table asks for copies of what is deleted from a Pinot."""
    body = config(metadata={"customConfigs": {KEEP_COPIES: "true"}})
    update_record(world.memory, paths.table_config(TABLE.typed), lambda _: parse_table_config(body).to_record())


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
