"""A table that pushes can go to, input files, and a builder that works in this process; for tests of pushes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from segments.domain.push.push_plan import InputFile, Part, Piece
from segments.domain.push.reader_spec import from_json
from segments.domain.tables import schema as schemas
from segments.domain.tables.table_config import parse_table_config
from segments.models import Push
from segments.services.push.push_run import run_push
from segments.services.push.pushes import create_push
from segments.spark.build_part import BuildJob, Built, Failed, read_answers, try_build_part
from segments.spark.reading.cuts import find_cuts
from segments.spark.reading.rows import count_rows
from segments.store import paths
from segments.store.base import Write
from tests.services.world import ANN, TABLE, World

SCHEMA = {
    "schemaName": "t",
    "dimensionFieldSpecs": [{"name": "city", "dataType": "STRING"}, {"name": "n", "dataType": "INT"}],
    "dateTimeFieldSpecs": [{"name": "day", "dataType": "INT", "format": "1:DAYS:EPOCH", "granularity": "1:DAYS"}],
}


def config(**more: Any) -> dict[str, Any]:
    """A REFRESH table with consistent push, unless specified otherwise."""
    batch = {"segmentIngestionType": "REFRESH", "consistentDataPush": True, **more.pop("batch", {})}
    return {
        "tableName": "t_OFFLINE",
        "tableType": "OFFLINE",
        "segmentsConfig": {"replication": "1", "timeColumnName": "day"},
        "tenants": {},
        "tableIndexConfig": {},
        "metadata": {},
        "ingestionConfig": {"batchIngestionConfig": batch},
        **more,
    }


class PushWorld(World):
    """A ``World`` whose segments come online automatically, with a folder of input files."""

    def __init__(self, folder: Path, **more: Any) -> None:
        super().__init__(folder / "store")
        node = self.memory.get(paths.table_config(TABLE.typed))
        assert node is not None
        self.memory.replace(
            paths.table_config(TABLE.typed), parse_table_config(config(**more)).to_record(), node.version
        )
        self.memory.create(paths.schema("t"), schemas.parse_schema(SCHEMA).to_record())
        self.ctx = self.with_store(Serving(self))  # type: ignore[arg-type]
        self.folder = folder / "in"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.builder = LocalBuilder()

    def file(self, name: str, *rows: str, header: str = "city,n,day") -> Path:
        """Write a CSV file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([header, *rows]) + "\n")
        return path

    def spec(self, **more: Any) -> dict[str, Any]:
        """A job specification for the folder."""
        return {
            "jobType": "SegmentCreationAndMetadataPush",
            "inputDirURI": str(self.folder),
            "tableSpec": {"tableName": "t"},
            "recordReaderSpec": {"dataFormat": "csv"},
            **more,
        }

    def create(self, **more: Any) -> Push:
        """Store a push."""
        return create_push(self.ctx, self.spec(**more), ANN, roots=[str(self.folder)])

    def run(self, push: Push, owner: str = "me") -> Push:
        """Carry it out as far as it goes."""
        self.sentence = run_push(self.ctx, str(push.pk), owner, builder=self.builder)
        push.refresh_from_db()
        return push


class Serving:
    """The store; after every transaction the servers have followed."""

    def __init__(self, world: World) -> None:
        self._world, self._store = world, world.memory

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def transaction(self, writes: Sequence[Write]) -> None:
        """Write, then serve."""
        self._store.transaction(writes)
        self._world.serve()


class LocalBuilder:
    """Builds one part after the other here; remembers which."""

    def __init__(self) -> None:
        self.builds: list[int] = []
        self.before: Callable[[Part], None] = lambda part: None
        self.ui = ""

    def ui_address(self) -> str:
        """As ``SparkBuilder.ui_address``."""
        return self.ui

    def build(
        self,
        job: BuildJob,
        parts: Sequence[Part],
        on_built: Callable[[list[Built]], None],
        on_failed: Callable[[list[Failed]], None],
    ) -> None:
        """As ``SparkBuilder.build``."""
        for part in parts:
            self.before(part)
            built, failed = read_answers([try_build_part(job, part.to_json())])
            self.builds += [b.ordinal for b in built]
            on_built(built)
            if failed:
                on_failed(failed)
            on_built([])

    def find_cuts(
        self,
        files: Sequence[InputFile],
        reader: dict[str, Any],
        target: int,
        on_tick: Callable[[], None],
        access: dict[str, Any] | None = None,
    ) -> dict[str, list[Piece]]:
        """As ``SparkBuilder.find_cuts``."""
        on_tick()
        return find_cuts(files, from_json(reader), target, access or {}, lambda items, work: [work(i) for i in items])

    def count_rows(
        self, files: Sequence[str], reader: dict[str, Any], on_tick: Callable[[], None], access: dict[str, Any]
    ) -> dict[str, int]:
        """As ``SparkBuilder.count_rows``."""
        on_tick()
        return {f: count_rows(f, from_json(reader)) for f in files}
