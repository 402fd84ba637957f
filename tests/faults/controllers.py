"""A table in any store, and one of several controllers that work on it: the use cases of the protocol, servers and
files left out.

Segments are records and rows of ideal state and external view, written with compare-and-set, so that many may upload at
once.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments.ideal_state import external_view, new_ideal_state, with_rows
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.tables.table_config import parse_table_config
from segments.errors import Conflict, PinotAdminError
from segments.gateways.deep_store.deepstore import DeepStore
from segments.names import TableName
from segments.services.core.context import Actor, Context, Limits
from segments.services.replacement import protocol as replacement
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.upkeep import retention
from segments.store import paths
from segments.store.base import Create, Replace, Store, Write
from segments.store.update import update_record, update_transaction
from tests.services.embedded_engine import EMBEDDED

BOB = Actor("bob")
SERVER = "Server_a_1"
Step = tuple[str, dict[str, Any]]


class Controller:
    """``name`` is the table's raw name. ``now``: epoch ms at which its clock stands, None: the machine's clock."""

    def __init__(self, store: Store, folder: Path, name: str = "t", *, now: int | None = None) -> None:
        self.store, self.table, self.now = store, TableName(name, "OFFLINE"), now
        (folder / name).mkdir(parents=True, exist_ok=True)
        self.ctx = Context(
            cluster="test",
            store=store,
            deep_store=DeepStore(f"file://{folder}"),
            clock=self.clock,
            new_id=lambda: str(uuid.uuid4()),
            controller_url="http://127.0.0.1:9000",
            engine=EMBEDDED,
            limits=Limits(replicas_online_s=1.0, broker_ack_s=0.2),
        )

    def clock(self) -> int:
        """Epoch ms."""
        return self.now if self.now is not None else time.time_ns() // 1_000_000

    def on(self, store: Store) -> Controller:
        """The same over another view of the same state."""
        other = Controller.__new__(Controller)
        other.__dict__.update(self.__dict__, store=store, ctx=replace(self.ctx, store=store))
        return other

    def create(self, *, custom: dict[str, str] | None = None, **segments_config: str) -> Controller:
        """An empty REFRESH table."""
        body = {
            "tableName": self.table.raw,
            "tableType": "OFFLINE",
            "segmentsConfig": {"replication": "1", **segments_config},
            "ingestionConfig": {"batchIngestionConfig": {"segmentIngestionType": "REFRESH"}},
            "metadata": {"customConfigs": custom or {}},
        }
        self.store.create(paths.table_config(self.table.typed), parse_table_config(body).to_record())
        self.store.create(paths.ideal_state(self.table.typed), new_ideal_state(self.table.typed, 1))
        with suppress(Conflict):
            self.store.create(paths.live_instance(SERVER), ZNRecord(SERVER))
        return self

    def upload(self, *segments: str) -> None:
        """Records, files and rows; served at once."""
        for name in segments:
            Path(self.ctx.deep_store.local_root or "", self.table.raw, name).write_text("tar")
        update_transaction(self.store, lambda: self._rows(segments))
        self.serve()

    def _rows(self, segments: Sequence[str]) -> list[Write]:
        seen = observe(self.ctx, self.table)
        writes: list[Write] = []
        for name in segments:
            path, node = paths.segment(self.table.typed, name), self.store.get(paths.segment(self.table.typed, name))
            record = SegmentMetadata(
                name, {"segment.total.docs": "10", "segment.size.in.bytes": "3", "segment.crc": "1"}
            ).to_record()
            writes.append(Create(path, record) if node is None else Replace(path, record, node.version))
        rows = {name: {SERVER: "ONLINE"} for name in segments}
        return [*writes, Replace(paths.ideal_state(self.table.typed), with_rows(seen.ideal, rows), seen.ideal_version)]

    def serve(self) -> None:
        """Let the external view follow the ideal state."""

        def follow(_: Any) -> ZNRecord:
            ideal = observe(self.ctx, self.table).ideal
            return external_view(ideal, ideal.maps)

        update_record(self.store, paths.external_view(self.table.typed), follow)

    def start(self, old: Sequence[str], new: Sequence[str], *, force: bool = False, entry: str | None = None) -> str:
        """Entry id."""
        return replacement.start_replace(self.ctx, self.table, old, new, force_cleanup=force, actor=BOB, entry_id=entry)

    def end(self, entry: str, segments_to: Sequence[str] = ()) -> None:
        """Switch."""
        replacement.end_replace(self.ctx, self.table, entry, segments_to=segments_to, actor=BOB)

    def revert(self, entry: str) -> None:
        """By force."""
        replacement.revert_replace(self.ctx, self.table, entry, force=True, actor=BOB)

    def retain(self) -> None:
        """A retention pass."""
        retention.run(self.ctx, self.table)

    def look(self) -> Observed:
        """Lineage and ideal state of this moment."""
        return observe(self.ctx, self.table)

    @property
    def visible(self) -> set[str]:
        """What queries see."""
        seen = self.look()
        return set(seen.lineage.visible(seen.ideal.maps))

    def act(self, steps: Sequence[Step]) -> list[str]:
        """Steps by name up to the first refusal; what each gave: an entry id, "ok" or the kind of the refusal."""
        answers: list[str] = []
        for name, given in steps:
            try:
                answers.append(str(getattr(self, name)(*given.get("args", ()), **given.get("options", {})) or "ok"))
            except PinotAdminError as error:
                return [*answers, type(error).__name__]
        return answers


def step(name: str, *args: Any, **options: Any) -> Step:
    """One step for ``act``."""
    return name, {"args": args, "options": options}


def pushed(new: str, old: str | None = None, entry: str = "e1", *, force: bool = False) -> list[Step]:
    """A whole push of one segment."""
    return [
        step("start", [old] if old else [], [new], force=force, entry=entry),
        step("upload", new),
        step("end", entry),
    ]


#: One race: its name, what happened before, what several controllers do at once, and what must hold: (answers, states,
#: visible) -> bool.
RACES: dict[str, tuple[list[Step], list[list[Step]], Any]] = {
    "first starts of an empty lineage": (
        [],
        [[step("start", [], [f"n{i}"])] for i in range(3)],
        lambda answers, states, visible: all(a[0] in states for a in answers) and visible == set(),
    ),
    "end, forced revert and forced start of the same segments": (
        [step("upload", "a"), step("start", ["a"], ["b"], entry="e1"), step("upload", "b")],
        [[step("end", "e1")], [step("revert", "e1")], [step("start", ["a"], ["c"], force=True, entry="e2")]],
        lambda answers, states, visible: (
            visible in ({"a"}, {"b"}) and "e1" in states and (answers[2][0] != "e2" or "e2" in states)
        ),
    ),
    "third forced push, revert of the second, retention": (
        [step("upload", "a"), *pushed("b", "a", force=True)],
        [pushed("c", "b", "e2", force=True), [step("revert", "e1")], [step("retain")]],
        lambda answers, states, visible: (
            visible == ({"c"} if answers[0] == ["e2", "ok", "ok"] else {"a"})
            and (answers[0][0] != "e2" or "e2" in states)
        ),
    ),
    "two reverts, a repeated end and retention": (
        [step("upload", "a"), *pushed("b", "a")],
        [[step("revert", "e1"), step("retain")], [step("revert", "e1")], [step("end", "e1")]],
        lambda answers, states, visible: visible == {"a"} and [a[0] for a in answers[:2]].count("ok") == 1,
    ),
    "twice the same forced start, and its end": (
        [step("upload", "a")],
        [pushed("b", "a", "e1", force=True), pushed("b", "a", "e2", force=True)],
        lambda answers, states, visible: visible in ({"a"}, {"b"}) and any(a[0] in states for a in answers),
    ),
}
