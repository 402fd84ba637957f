"""A table with a file ingestion task, its folder, and runs of its sessions in this process."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from segments.domain.ingestion.session import FileState, IngestionSession
from segments.domain.segments import segment_metadata
from segments.domain.tables import table_config
from segments.domain.tables.table_config import parse_table_config
from segments.gateways.input_files.rules import InputRules
from segments.services.core.context import Context
from segments.services.ingestion import sessions
from segments.services.ingestion.session_run import run_session
from segments.services.ingestion.sessions import TriggerResult
from segments.store import paths
from tests.push.pushing import PushWorld
from tests.services.world import ANN, TABLE

APPEND = {"consistentPushEnabled": "true"}
SYNC = {"consistentPushEnabled": "true", "ingestionMode": "SYNC"}
SWAP = {"consistentPushSwapEnabled": "true"}


class IngestionWorld(PushWorld):
    """A ``PushWorld`` whose table ingests ``folder``. File contents count up ``n``; a file named bad has none."""

    def __init__(self, folder: Path, keys: dict[str, str], **more: Any) -> None:
        super().__init__(folder, batch={"segmentIngestionType": "APPEND", "consistentDataPush": False}, **more)
        self.ctx = replace(self.ctx, inputs=InputRules((str(self.folder),)))
        self.keys = {"inputDirURI": str(self.folder), "inputFormat": "csv", "consistentPushMaxRetries": "3", **keys}
        self._mtime, self.before = 1_700_000_000, 0
        self.configure()

    def configure(self, **keys: str) -> None:
        """Write the table config with these keys of the task changed."""
        self.keys |= keys
        self.configure_table(task={"taskTypeConfigsMap": {"FileIngestionTask": dict(self.keys)}})

    def configure_segments(self, **keys: str) -> None:
        """Write the table config with these keys of ``segmentsConfig`` changed."""
        self.configure_table(segmentsConfig={**self._config()[0]["segmentsConfig"], **keys})

    def _config(self) -> tuple[dict[str, Any], int]:
        node = self.memory.get(paths.table_config(TABLE.typed))
        assert node is not None
        assert node.record is not None
        return table_config.from_record(node.record).body, node.version

    def configure_table(self, **parts: Any) -> None:
        """Write the table config with these parts changed."""
        body, version = self._config()
        record = parse_table_config({**body, **parts}).to_record()
        self.memory.replace(paths.table_config(TABLE.typed), record, version)

    def put(self, name: str, rows: int, *, bad: bool = False) -> Path:
        """Write a file of so many rows, later than all before; ``bad``: it cannot be read."""
        lines = ["x,none,17000"] if bad else [f"{name},{n},17000" for n in range(rows)]
        path = self.file(name, *lines)
        self._mtime += 1
        os.utime(path, (self._mtime, self._mtime))
        return path

    def uri(self, name: str) -> str:
        """As listed."""
        return str((self.folder / name).resolve())

    def trigger(self, ctx: Context | None = None) -> TriggerResult:
        """One trigger, without the run."""
        return sessions.trigger(ctx or self.ctx, TABLE, ANN)

    def work(self, ctx: Context | None = None, owner: str = "me") -> str:
        """The run under way, as far as it goes."""
        session = sessions.current(self.ctx, TABLE)
        assert session is not None
        return run_session(ctx or self.ctx, TABLE, session.id, owner, builder=self.builder)

    def go(self) -> TriggerResult:
        """A trigger and its run, some minutes later."""
        self.now += 600_000
        result = self.trigger()
        if result.session_id is not None:
            self.work()
        return result

    @property
    def session(self) -> IngestionSession:
        """The newest one."""
        found = sessions.current(self.ctx, TABLE)
        assert found is not None
        return found

    @property
    def states(self) -> dict[str, FileState]:
        """Of the newest session's files by name."""
        return {Path(f.uri).name: f.state for f in sessions.files_of(self.ctx, self.session)}

    @property
    def vis(self) -> int:
        """Rows that queries count."""
        nodes = self.ctx.store.get_many([paths.segment(TABLE.typed, s) for s in self.visible])
        return sum(segment_metadata.from_record(n.record).total_docs or 0 for n in nodes if n and n.record)

    @property
    def read(self) -> int:
        """How many files were read so far."""
        return len(self.builder.builds)
