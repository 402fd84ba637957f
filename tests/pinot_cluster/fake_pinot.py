"""A Pinot cluster in memory that changes as Pinot does: its REST over our own use cases, with faults at any change, and
its broker.

``inside`` is what Pinot holds (an embedded world whose decisions are ours), ``ctx`` is the context of kind pinot that
drives it over REST.
"""

from __future__ import annotations

import enum
import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from urllib.request import urlopen

import httpx

from segments.clusters.pinot.engine import pinot_engine
from segments.domain.realtime.force_commit import BatchSettings
from segments.domain.segments import ideal_state
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.errors import InvalidInput, NotFound, PinotAdminError
from segments.gateways.celery_queue import CeleryQueue
from segments.gateways.deep_store.deepstore import DeepStore
from segments.names import TableName
from segments.segmentfile.packed.tar import read_info_from_tar
from segments.services.core.context import Actor, Context, Limits
from segments.services.realtime import consumption, force_commit
from segments.services.realtime.consuming_segments import StartFrom
from segments.services.realtime.force_commit import Wanted
from segments.services.replacement.lineage_record import read_lineage
from segments.services.replacement.protocol import end_replace, revert_replace, start_replace
from segments.services.segments import segments as segment_lists
from segments.services.tables import schemas, tables
from segments.store import paths
from segments.store.base import Versioned
from segments.store.memory import MemoryStore
from segments.store.on_pinot.controller import ControllerStore
from segments.store.on_pinot.overlay import OverlayStore
from segments.store.update import update_record
from tests.faults.faulty import Cut
from tests.pinot_cluster import fake_instances
from tests.pinot_cluster.fake_broker import FakeBroker
from tests.pinot_cluster.fake_reads import FakeReads, Match, realtime_name, refused_with
from tests.pinot_cluster.fake_rest import controller
from tests.rebalance.fake_rebalance import FakeRebalance
from tests.services.world import TABLE, World

PINOT = Actor("pinot")


class Fault(enum.Enum):
    """What happens to a change."""

    LOSE_BEFORE = "the connection breaks before Pinot reads it"
    LOSE_AFTER = "Pinot does it, the answer is lost"
    ERROR_BEFORE = "500 that hides its cause, nothing is done"
    ERROR_AFTER = "500 that hides its cause, though it was done"
    GATEWAY_AFTER = "502 from what stands before the controller, though it was done"
    CUT_BEFORE = "our process dies before it is sent"
    CUT_AFTER = "our process dies when Pinot has done it"


@dataclass
class PinotRest(FakeRebalance, FakeReads):
    """REST of a controller over ``world``. ``faults`` and ``answers`` (given instead of its own) by the number of the
    change, from 1; ``changes`` are the changes that came in, ``parts`` the files of uploads.
    """

    faults: dict[int, Fault] = field(default_factory=dict)
    answers: dict[int, httpx.Response] = field(default_factory=dict)
    parts: list[bytes] = field(default_factory=list)
    before: dict[int, Callable[[], object]] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    params: list[dict[str, str]] = field(default_factory=list)
    has_jobs: bool = True
    #: {(method, path): answer}: instead of the change, or after it.
    refused: dict[tuple[str, str], httpx.Response] = field(default_factory=dict)
    answered_with: dict[tuple[str, str], httpx.Response] = field(default_factory=dict)

    def handle(self, request: httpx.Request) -> httpx.Response:
        if request.url.host in self.down or self.broken is not None:
            return super().handle(request)
        path = request.url.raw_path.decode().partition("?")[0]
        if (job := re.fullmatch(r"/rebalanceStatus/([^/]+)", path)) is not None:
            return self._guarded(lambda: self.rebalance_status(request, job))
        if request.method == "GET" or path == "/tables/validate":
            return self._read(request, path) or super().handle(request)
        self.changes.append(f"{request.method} {unquote(path)}")
        self.bodies.append(_json(request))
        self.params.append(dict(request.url.params))
        number = len(self.changes)
        if number in self.before:
            self.before[number]()
        if number in self.answers:
            return self.answers[number]
        if (request.method, path) in self.refused:
            return self.refused[request.method, path]
        done = self._faulty(self.faults.get(number), request, lambda: self._change(request, path))
        return self.answered_with.get((request.method, path), done)

    def _faulty(
        self, fault: Fault | None, request: httpx.Request, change: Callable[[], httpx.Response]
    ) -> httpx.Response:
        match fault:
            case Fault.CUT_BEFORE:
                raise Cut
            case Fault.LOSE_BEFORE:
                raise httpx.ReadError("connection reset", request=request)
            case Fault.ERROR_BEFORE:
                return _opaque(request)
            case None:
                return change()
        change()
        match fault:
            case Fault.CUT_AFTER:
                raise Cut
            case Fault.LOSE_AFTER:
                raise httpx.ReadTimeout("timed out", request=request)
            case Fault.GATEWAY_AFTER:
                return httpx.Response(502, text="bad gateway")
        return _opaque(request)

    def _change(self, request: httpx.Request, path: str) -> httpx.Response:
        self.world.now += 1  # no two changes of a Pinot happen in the same millisecond
        for pattern, handler in (
            (r"/segments/([^/]+)/startReplaceSegments", self._start),
            (r"/segments/([^/]+)/endReplaceSegments", self._end),
            (r"/segments/([^/]+)/revertReplaceSegments", self._revert),
            (r"/segments/([^/]+)/delete", self._delete),
            (r"(?:/v2)?/segments", self._upload),
            (r"/tables/([^/]+)/pauseConsumption", self._pause),
            (r"/tables/([^/]+)/resumeConsumption", self._resume),
            (r"/tables/([^/]+)/(pause|resume)TopicConsumption", self._topics),
            (r"/tables/([^/]+)/forceCommit", self._force_commit),
            (r"/tables/([^/]+)/rebalance", self.rebalance),
            (r"/schemas", self._schema),
            (r"/schemas/([^/]+)", self._schema),
            (r"/tables", self._new_table),
            (r"/tables/([^/]+)", self._old_table),
            (r"/(tasks)/.*", self._tasks),
        ):
            if (found := re.fullmatch(pattern, path)) is not None:
                try:
                    return handler(request, found)
                except NotFound as error:
                    return refused_with(404, error.message)
                except InvalidInput as error:
                    return refused_with(400, f"Invalid table config: {error.message}")
                except PinotAdminError as error:
                    return _opaque(request) if "Replace" in path else refused_with(500, error.message)
        return fake_instances.change(self.world.ctx, request, path) or httpx.Response(200, json={"status": "ok"})

    @staticmethod
    def _guarded(read: Callable[[], httpx.Response]) -> httpx.Response:
        try:
            return read()
        except PinotAdminError as error:
            return refused_with(error.status, error.message)

    def _start(self, request: httpx.Request, found: Match) -> httpx.Response:
        body, force = _json(request), request.url.params.get("forceCleanup") == "true"
        entry = start_replace(
            self.world.ctx,
            self._table(request, found),
            body["segmentsFrom"],
            body["segmentsTo"],
            force_cleanup=force,
            actor=PINOT,
        )
        return httpx.Response(200, json={"segmentLineageEntryId": entry})

    def _end(self, request: httpx.Request, found: Match) -> httpx.Response:
        body = _json(request) or {}
        entry = request.url.params["segmentLineageEntryId"]
        table, listed = self._table(request, found), body.get("segmentsTo") or []
        end_replace(self.world.ctx, table, entry, segments_to=listed, actor=PINOT, override="Pinot checks nothing")
        return httpx.Response(200)

    def _revert(self, request: httpx.Request, found: Match) -> httpx.Response:
        force = request.url.params.get("forceRevert") == "true"
        revert_replace(
            self.world.ctx,
            self._table(request, found),
            request.url.params["segmentLineageEntryId"],
            force=force,
            actor=PINOT,
        )
        return httpx.Response(200)

    def _delete(self, request: httpx.Request, found: Match) -> httpx.Response:
        names = _json(request)

        def decide(node: Versioned | None) -> Any:
            assert node is not None
            assert node.record is not None
            return ideal_state.without_rows(node.record, names)

        update_record(self.store, paths.ideal_state(unquote(found[1])), decide)
        for name in names:
            self.store.delete(paths.segment(unquote(found[1]), name))
        self.world.serve()
        return httpx.Response(200, json={"status": "deleted"})

    def _upload(self, request: httpx.Request, found: Match) -> httpx.Response:
        folder = self.world.ctx.deep_store.local_root
        assert folder is not None
        kind = request.headers.get("UPLOAD_TYPE", "SEGMENT")
        tar = folder / "upload.tar.gz"
        if kind != "URI":
            self.parts.append(_part(request))
        tar.write_bytes(self.parts[-1] if kind != "URI" else urlopen(request.headers["DOWNLOAD_URI"]).read())
        info = read_info_from_tar(tar)
        typed = f"{request.url.params['tableName']}_{request.url.params['tableType']}"
        fields = {
            "segment.total.docs": str(info.total_docs),
            "segment.size.in.bytes": str(tar.stat().st_size),
            "segment.crc": str(info.crc),
            "segment.download.url": request.headers.get("DOWNLOAD_URI", "http://controller/x"),
            "segment.push.time": str(self.world.now),
        }
        update_record(
            self.store, paths.segment(typed, info.name), lambda _: SegmentMetadata(info.name, fields).to_record()
        )
        update_record(self.store, paths.ideal_state(typed), lambda node: _with_row(node, info.name))
        if kind == "SEGMENT":
            self.world.ctx.deep_store.put(
                tar, self.world.ctx.deep_store.segment_path(request.url.params["tableName"], info.name)
            )
        self.world.serve()
        return httpx.Response(200, json={"status": f"Successfully uploaded segment: {info.name}"})

    def _pause(self, request: httpx.Request, found: Match) -> httpx.Response:
        comment = request.url.params.get("comment")
        consumption.pause_table(self.world.ctx, realtime_name(found), comment=comment, actor=PINOT)
        return self._pause_status(request, found)

    def _resume(self, request: httpx.Request, found: Match) -> httpx.Response:
        params = request.url.params
        start = StartFrom(params.get("consumeFrom", "lastConsumed"))  # type: ignore[arg-type]
        consumption.resume_table(
            self.world.ctx, realtime_name(found), start=start, comment=params.get("comment"), actor=PINOT
        )
        return self._pause_status(request, found)

    def _topics(self, request: httpx.Request, found: Match) -> httpx.Response:
        change = consumption.pause_topics if found[2] == "pause" else consumption.resume_topics
        indices = [int(i) for i in request.url.params["topicIndices"].split(",")]
        return httpx.Response(200, json=change(self.world.ctx, realtime_name(found), indices, actor=PINOT))

    def _force_commit(self, request: httpx.Request, found: Match) -> httpx.Response:
        chosen = request.url.params.get("partitions")
        wanted = Wanted(partitions=[int(p) for p in chosen.split(",")] if chosen is not None else None)
        answer = force_commit.force_commit(self.world.ctx, realtime_name(found), wanted, BatchSettings(), actor=PINOT)
        return httpx.Response(200, json=answer if self.has_jobs else {"forceCommitStatus": "SUCCESS"})

    def _schema(self, request: httpx.Request, found: Match) -> httpx.Response:
        if request.method == "DELETE":
            schemas.delete_schema(self.world.ctx, unquote(found[1]), actor=PINOT)
        elif request.method == "PUT":
            schemas.update_schema(self.world.ctx, unquote(found[1]), _json(request), actor=PINOT)
        else:
            schemas.create_schema(
                self.world.ctx, _json(request), override=request.url.params.get("override") != "false", actor=PINOT
            )
        return httpx.Response(200, json={"status": "ok"})

    def _new_table(self, request: httpx.Request, found: Match) -> httpx.Response:
        tables.create_table(self.world.ctx, _json(request), actor=PINOT)
        return httpx.Response(200, json={"status": "created", "unrecognizedProperties": {}})

    def _old_table(self, request: httpx.Request, found: Match) -> httpx.Response:
        if request.method == "PUT":
            tables.update_table(self.world.ctx, unquote(found[1]), _json(request), actor=PINOT)
        else:
            kind = request.url.params.get("type", "OFFLINE").upper()
            table = TableName(unquote(found[1]), "REALTIME" if kind == "REALTIME" else "OFFLINE")
            tables.delete_table(self.world.ctx, table, actor=PINOT)
        return httpx.Response(200, json={"status": "ok"})


class PinotCluster:
    """A world inside, its REST, and the context that drives it. ``own`` is the installation's own ZooKeeper."""

    def __init__(
        self, folder: Path, *, kind: str = "REFRESH", version: str = "1.5.1", inside: World | None = None
    ) -> None:
        self.inside = inside or World(folder / "pinot", kind=kind)
        self.rest = PinotRest(store=self.inside.memory, version=version, world=self.inside)
        self.broker = FakeBroker(self.inside)
        self.own = MemoryStore()
        self.folder = folder / "ours"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._ids = itertools.count(1)
        self.ctx = self.connect()

    def connect(self) -> Context:
        """A fresh process: new connections, the same state."""
        gateway = controller(self.rest)
        self.ctx = Context(
            cluster="prod",
            store=OverlayStore(lambda: self.own, "prod", ControllerStore(gateway)),
            deep_store=DeepStore(f"file://{self.folder}"),
            clock=lambda: self.inside.now,
            new_id=lambda: f"ours-{next(self._ids)}",
            controller_url="http://controller:9000",
            limits=Limits(replicas_online_s=0.2, broker_ack_s=0.3, entry_lease_s=40.0),
            engine=pinot_engine(gateway, self.broker),
            queue=CeleryQueue("prod"),
        )
        return self.ctx

    @property
    def visible(self) -> list[str]:
        """What queries see."""
        return self.inside.visible

    def entries(self) -> list[tuple[tuple[str, ...], tuple[str, ...], str]]:
        """(from, to, state) of every entry in Pinot, oldest first."""
        lineage = read_lineage(self.inside.ctx, TABLE)
        return [(e.segments_from, e.segments_to, e.state.value) for e in lineage.in_order()] if lineage else []

    def lists(self) -> list[str]:
        """Segments of the ideal state."""
        return segment_lists.list_segments(self.inside.ctx, TABLE)


def _with_row(node: Versioned | None, segment: str) -> Any:
    assert node is not None
    assert node.record is not None
    return ideal_state.with_rows(node.record, {segment: {"Server_a_1": "ONLINE"}})


def _json(request: httpx.Request) -> Any:
    try:
        return json.loads(request.content) if request.content else None
    except (ValueError, UnicodeDecodeError):
        return None


def _part(request: httpx.Request) -> bytes:
    """The file of a multipart body with one part."""
    boundary = request.headers["content-type"].partition("boundary=")[2].encode()
    body = request.read()
    return body.split(b"\r\n\r\n", 1)[1].rsplit(b"\r\n--" + boundary, 1)[0]


def _opaque(request: httpx.Request) -> httpx.Response:
    step = request.url.path.rpartition("/")[2]
    if not step.endswith("ReplaceSegments"):
        return refused_with(500, "java.lang.RuntimeException: null")
    return refused_with(500, f"Failed to update the segment lineage during {step}. (tableName = t_OFFLINE)")
