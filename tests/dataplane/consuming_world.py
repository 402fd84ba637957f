"""Servers that consume a stream in memory and commit through the real completion service, all in one process; faults at
every message.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from segments.clusters.embedded.realtime.completion import protocol as completion
from segments.dataplane.broker import Broker
from segments.dataplane.server import Server, ServerSettings
from segments.dataplane.server.consuming import ConsumingSettings
from segments.domain import set_aside
from segments.domain.realtime.commit.start import consuming_record, consuming_row
from segments.domain.realtime.completion import Kind
from segments.domain.realtime.llc_name import LLCName, parse_llc_name
from segments.domain.segments import ideal_state
from segments.domain.tables.schema import Schema, parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.errors import Unavailable
from segments.gateways.controller_protocol import Answer, Report
from segments.gateways.streams.memory import MemoryBroker
from segments.names import REALTIME, TableName
from segments.segmentfile.format.info import parse_info
from segments.services.core.context import SYSTEM, Context
from segments.services.engine.commits import Received
from segments.services.realtime.reingestion.registration import register_reingested
from segments.store import paths
from tests.dataplane.world import SECRET, World, poll
from tests.services.embedded_engine import engine_of

RT = "r_REALTIME"
SCHEMA = parse_schema(
    {
        "schemaName": "r",
        "dimensionFieldSpecs": [{"name": "id", "dataType": "STRING"}, {"name": "n", "dataType": "LONG"}],
        "dateTimeFieldSpecs": [
            {"name": "ts", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:MILLISECONDS"}
        ],
    }
)


def rows_of(broker: Broker, sql: str) -> list[list[Any]] | None:
    """The answer's rows; None while it has none, as before the broker has seen what a server serves."""
    answer = broker.query(sql)
    return None if answer["exceptions"] else answer["resultTable"]["rows"]


def instance(number: int) -> str:
    """Name of the numbered server."""
    return f"Server_127.0.0.1_{number}"


@dataclass
class SpokenController:
    """The completion service without HTTP. ``before`` may answer in its place (given the message's kind), ``after``
    sees or replaces what it answered: that is how messages and replies get lost. ``heard`` are (kind, instance,
    status).
    """

    ctx: Context
    before: Callable[[Kind, Report], Answer | None] = lambda _kind, _report: None
    after: Callable[[Kind, Report, Answer], Answer] = lambda _kind, _report, answer: answer
    heard: list[tuple[str, str, str]] = field(default_factory=list)

    def _say(self, kind: Kind, report: Report, **more: Any) -> Answer:
        answer = self.before(kind, report)
        if answer is None:
            said = Received(
                kind, report.instance, report.segment, report.offset, report.reason, extra_s=report.extra_time_s or 120,
                rows=report.rows, size_bytes=report.size_bytes, has_read_on=report.has_read_on, **more,
            )  # fmt: skip
            answer = self.after(kind, report, Answer.of(completion.answer(self.ctx, said).to_json()))
        self.heard.append((kind.value, report.instance, answer.status))
        return answer

    def consumed(self, report: Report) -> Answer:
        return self._say(Kind.CONSUMED, report)

    def stopped(self, report: Report) -> Answer:
        return self._say(Kind.STOPPED, report)

    def commit_start(self, report: Report) -> Answer:
        return self._say(Kind.COMMIT_START, report)

    def extend_build_time(self, report: Report) -> Answer:
        return self._say(Kind.EXTEND, report)

    def build_failed(self, report: Report) -> Answer:
        return self._say(Kind.BUILD_FAILED, report)

    def upload(self, report: Report, tar: Path) -> Answer:
        return Answer.of(completion.upload(self.ctx, report.segment, tar, report.offset).to_json())

    def commit_end(self, report: Report, location: str, files: Mapping[str, Path]) -> Answer:
        info = parse_info(*(files[name].read_bytes() for name in ("metadata.properties", "creation.meta")))
        return self._say(Kind.COMMIT_END, report, location=location, info=info)


@dataclass
class SpokenRegistrations:
    """``POST /segments/reingested`` without HTTP; ``before`` and ``after`` may raise, as when a request or its answer
    is lost. ``heard``: the segments.
    """

    ctx: Context
    before: Callable[[str], None] = lambda _segment: None
    after: Callable[[str], None] = lambda _segment: None
    heard: list[str] = field(default_factory=list)

    def register(self, raw_table: str, segment: str, location: str, metadata: Path) -> None:
        self.heard.append(segment)
        self.before(segment)
        register_reingested(self.ctx, TableName(raw_table, REALTIME), metadata, location, actor=SYSTEM)
        self.after(segment)

    def close(self) -> None:
        """Nothing to end."""


class CollectedReports:
    """Takes what servers report of messages set aside, in the web process's place; ``is_away``: it does not answer."""

    def __init__(self) -> None:
        self.taken: list[set_aside.Report] = []
        self.is_away = False

    def send(self, table: str, body: bytes) -> None:
        if self.is_away:
            raise Unavailable("The web process is away.")
        self.taken.append(msgspec.json.decode(body, type=set_aside.Report))

    def close(self) -> None:
        """Nothing to end."""

    @property
    def messages(self) -> list[set_aside.Message]:
        return [m for report in self.taken for m in report.messages]

    @property
    def settled(self) -> list[set_aside.Settled]:
        return [s for report in self.taken for s in report.settled]


class ConsumingWorld(World):
    """Table ``r`` with one topic ``topic``; rows carry an ``id`` that no two of them share."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.stream = MemoryBroker()
        ids = itertools.count(1)
        self.ctx = Context(
            cluster="test",
            store=self.store,
            deep_store=self.deep_store,
            clock=lambda: int(time.time() * 1000),
            new_id=lambda: f"id-{next(ids)}",
            controller_url="http://127.0.0.1:1",
            engine=engine_of(self.http),
            streams=self.stream.open,
        )
        self.controller = SpokenController(self.ctx)
        self.reports = CollectedReports()
        self.registrations = SpokenRegistrations(self.ctx)
        self.sent = 0

    def start_server(
        self, number: int = 1, *, controller: Any = None, consuming: Mapping[str, Any] | None = None, **more: Any
    ) -> Server:
        """A server that consumes; the same number means the same name and folder."""
        store = self.client()
        self.stores.append(store)
        given = {"segment_store_url": self.deep_store.url, "controller_url": self.ctx.controller_url, **more}
        settings = ServerSettings(
            "127.0.0.1", number, 0, self.folder / f"server-{number}", SECRET, join_patience_s=2.0,
            consuming=ConsumingSettings(**(consuming or {})), **given,
        )  # fmt: skip
        server = Server(
            store,
            self.deep_store,
            settings,
            controller=controller or self.controller,
            opener=self.stream.open,
            reports=self.reports,
            reingested=self.registrations,
        )
        server.start()
        self.servers[number] = server
        poll(lambda: server.is_ready, what="server ready")
        return server

    def create_realtime(
        self, *, rows: int = 1_000_000, servers: tuple[int, ...] = (1,), stream: Mapping[str, str] | None = None,
        segments: Mapping[str, Any] | None = None, is_pauseless: bool = False, schema: Schema = SCHEMA, **more: Any,
    ) -> str:  # fmt: skip
        """Topic, schema, config, first consuming segment; returns its name."""
        maps = {
            "streamType": "memory",
            "stream.memory.topic.name": "topic",
            "stream.memory.consumer.prop.auto.offset.reset": "smallest",
            "realtime.segment.flush.threshold.segment.rows": str(rows),
            **(stream or {}),
        }
        config = parse_table_config({
            "tableName": "r", "tableType": "REALTIME", "tenants": {}, "tableIndexConfig": {}, "metadata": {},
            "segmentsConfig": {"timeColumnName": "ts", "replication": str(len(servers)), **(segments or {})},
            "ingestionConfig": {"streamIngestionConfig": {
                "streamConfigMaps": [maps], "pauselessConsumptionEnabled": is_pauseless
            }}, **more,
        })  # fmt: skip
        self.stream.create("topic", 1)
        self.store.create(paths.schema("r"), schema.to_record())
        self.store.create(paths.table_config(RT), config.to_record())
        name = LLCName("r", 0, 0, self.ctx.clock())
        record = consuming_record(
            name, start_offset="0", replicas=len(servers), flush_rows=rows, now_ms=self.ctx.clock()
        )
        self.store.create(paths.segment(RT, name.text), record)
        row = consuming_row(instance(n) for n in servers)
        self.store.create(
            paths.ideal_state(RT),
            ideal_state.with_rows(ideal_state.new_ideal_state(RT, len(servers)), {name.text: row}),
        )
        return name.text

    def send(self, count: int) -> None:
        """New rows into the only partition."""
        now = self.ctx.clock()
        rows = [json.dumps({"id": f"i{n}", "n": n, "ts": now}).encode() for n in range(self.sent, self.sent + count)]
        self.stream.send("topic", 0, rows, now)
        self.sent += count

    def chain(self) -> list[str]:
        """Segments of the table, by sequence."""
        node = self.store.get(paths.ideal_state(RT))
        return [n.text for n in sorted(parse_llc_name(s) for s in node.record.maps)]

    def fields(self, segment: str) -> dict[str, str]:
        """Simple fields of the segment's record."""
        return dict(self.store.get(paths.segment(RT, segment)).record.simple)

    def view(self, segment: str) -> Mapping[str, str]:
        """The segment's row of the external view."""
        return self.states(segment, RT)

    def is_settled(self) -> bool:
        """Is the external view the ideal state?"""
        ideal, view = self.store.get(paths.ideal_state(RT)), self.store.get(paths.external_view(RT))
        return bool(view) and ideal.record.maps == view.record.maps

    def settled(self, seconds: float = 10.0) -> ConsumingWorld:
        """Wait for that."""
        poll(self.is_settled, seconds, "external view as the ideal state")
        return self

    def rows_of(self, number: int) -> dict[str, int]:
        """{segment: rows} that a server shows now, of all that it can answer."""
        found, _ = self.servers[number].slots.find(RT, self.chain())
        return {s.name: s.num_docs for s in found}

    def ids_of(self, number: int) -> list[str]:
        """Every id that a server shows, in order of segments and rows."""
        found, _ = self.servers[number].slots.find(RT, self.chain())
        return [i for s in found for i in s.table_of(["id"]).column("id").to_pylist()]

    def exact(self, number: int, seconds: float = 10.0) -> None:
        """Wait until the server shows every row that was sent, and no row twice."""
        poll(lambda: sum(self.rows_of(number).values()) >= self.sent, seconds, "every row")
        wanted = sorted(f"i{n}" for n in range(self.sent))
        poll(lambda: sorted(self.ids_of(number)) == wanted, seconds, "every row once")

    def chain_is_whole(self) -> None:
        """Sequences without a hole; each segment starts where the one before ended."""
        names = self.chain()
        assert [parse_llc_name(s).sequence for s in names] == list(range(len(names)))
        for old, new in itertools.pairwise(names):
            assert self.fields(old)["segment.realtime.endOffset"] == self.fields(new)["segment.realtime.startOffset"]
