"""A cluster in memory behind Django's test client: two servers that hold whatever they should, a broker that answers
one thing.
"""

from __future__ import annotations

import base64
import io
import itertools
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from segments import wiring
from segments.domain.segments.ideal_state import external_view
from segments.domain.tables import schema as schemas
from segments.domain.tables.table_config import parse_table_config
from segments.gateways.celery_queue import CeleryQueue
from segments.gateways.deep_store.deepstore import DeepStore
from segments.names import OFFLINE, TableName
from segments.segmentfile.packed.tar import write_tar
from segments.segmentfile.writer import build_segment
from segments.services.core.context import Actor, Context, Limits
from segments.store import paths
from segments.store.memory import MemoryStore
from segments.store.records.cluster_setup import ensure_cluster
from segments.store.records.instances import join
from tests.services.embedded_engine import EMBEDDED

DAY0 = 19_000
TABLE = TableName("t", OFFLINE)
ANN = Actor("ann", "because")


def schema_of(name: str = "t") -> dict[str, Any]:
    return {
        "schemaName": name,
        "dimensionFieldSpecs": [{"name": "v", "dataType": "STRING"}, {"name": "n", "dataType": "INT"}],
        "dateTimeFieldSpecs": [{"name": "day", "dataType": "INT", "format": "1:DAYS:EPOCH", "granularity": "1:DAYS"}],
    }


def config_of(name: str = "t", replication: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "tableName": name,
        "tableType": "OFFLINE",
        "segmentsConfig": {"timeColumnName": "day", "replication": str(replication), **more.pop("segments", {})},
        "tenants": {},
        "tableIndexConfig": {},
        "metadata": {},
        **more,
    }


#: Of the embedded servers.
TAGS = ("DefaultTenant_OFFLINE", "DefaultTenant_REALTIME")


class FakeBroker:
    """Answers every query with what was asked."""

    def query(self, sql: str, options: Mapping[str, str]) -> dict[str, Any]:
        return {"asked": sql, "options": dict(options), "exceptions": []}


class ApiCluster:
    """``ctx`` for services, ``http`` for requests (as a superuser unless ``as_user`` says otherwise)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory = MemoryStore()
        self.now = 1_700_000_000_000
        (folder / "store").mkdir(parents=True)
        ids = itertools.count(1)
        self.ctx = Context(
            cluster="test",
            store=self.memory,
            deep_store=DeepStore(f"file://{folder}/store"),
            clock=lambda: self.now,
            new_id=lambda: f"id-{next(ids)}",
            controller_url="http://127.0.0.1:9000",
            engine=EMBEDDED,
            limits=Limits(replicas_online_s=0.5, broker_ack_s=0.2),
            queue=CeleryQueue(),
        )
        ensure_cluster(self.memory, "test")
        for port in (8098, 8198):
            join(self.memory, f"Server_127.0.0.1_{port}", "127.0.0.1", port, TAGS, adminPort=str(port - 1))
        join(self.memory, "Broker_127.0.0.1_9000", "127.0.0.1", 9000, ["DefaultTenant_BROKER"])
        self.broker = FakeBroker()
        self._numbers = itertools.count(1)
        self.http = self.as_user("root", superuser=True)

    def as_user(
        self, name: str, *rights: str, superuser: bool = False, password: str = "a long enough secret"
    ) -> Client:
        """A client that sends this user's credentials with every request."""
        user = User.objects.filter(username=name).first() or User.objects.create_user(
            name, password=password, is_superuser=superuser
        )
        user.user_permissions.set(Permission.objects.filter(codename__in=rights))
        return Client(headers={"Authorization": basic(name, password)})

    # -- tables and segments

    def create(self, name: str = "t", **more: Any) -> ApiCluster:
        assert self.http.post("/schemas", schema_of(name), "application/json").status_code == 200
        answer = self.http.post("/tables", config_of(name, **more), "application/json")
        assert answer.status_code == 200, answer.content
        return self

    def build(self, segment: str, count: int = 3, day: int = DAY0, table: str = "t") -> Path:
        """The tar of a new segment."""
        out = self.folder / f"build-{next(self._numbers)}"
        rows = pa.table({"v": [segment] * count, "n": list(range(count)), "day": [day + i % 5 for i in range(count)]})
        config = parse_table_config(config_of(table, ingestionConfig={"segmentTimeValueCheck": False}))
        build_segment(
            rows, schemas.parse_schema(schema_of(table)), config, segment, out, creation_time_ms=1_600_000_000_000
        )
        tar = out / f"{segment}.tar.gz"
        write_tar(out / segment, tar)
        return tar

    def post_tar(
        self, tar: Path, name: str = "s", path: str = "/v2/segments", client: Client | None = None, **more: Any
    ) -> Any:
        """TAR push of a file; ``headers`` and query parameters by keyword."""
        headers = more.pop("headers", None)
        query = {"tableName": "t", "tableType": "OFFLINE", **more}
        body = {name: SimpleUploadedFile(f"{name}.tar.gz", tar.read_bytes(), "application/octet-stream")}
        return (client or self.http).post(
            path, body, query_params={k: v for k, v in query.items() if v is not None}, headers=headers
        )

    def push(self, *segments: str, count: int = 3, **more: Any) -> ApiCluster:
        """TAR push of new segments; each must succeed."""
        for segment in segments:
            answer = self.post_tar(self.build(segment, count), segment, **more)
            assert answer.status_code == 200, answer.content
        return self.serve()

    def serve(self, table: str = "t_OFFLINE") -> ApiCluster:
        """Let the external view follow the ideal state."""
        node, view = self.memory.get(paths.ideal_state(table)), self.memory.get(paths.external_view(table))
        if node is None or node.record is None:
            self.memory.delete(paths.external_view(table))
            return self
        record = external_view(node.record, node.record.maps)
        if view is None:
            self.memory.create(paths.external_view(table), record)
        else:
            self.memory.replace(paths.external_view(table), record, view.version)
        return self

    # -- what there is

    def record(self, path: str) -> Any:
        """The record at a path, None when there is none."""
        node = self.memory.get(path)
        return node.record if node else None

    def fields(self, segment: str) -> dict[str, str]:
        """Simple fields of a segment's record."""
        return dict(self.record(paths.segment("t_OFFLINE", segment)).simple)

    @property
    def ideal(self) -> dict[str, dict[str, str]]:
        """Rows of the ideal state."""
        return dict(self.record(paths.ideal_state("t_OFFLINE")).maps)

    @property
    def files(self) -> list[str]:
        """Files of live segments."""
        return [f.name for f in self.ctx.deep_store.files("t")]


@contextmanager
def served(folder: Path) -> Iterator[ApiCluster]:
    """A fresh cluster in memory that answers every request while this lasts."""
    made = ApiCluster(folder)
    with wiring.use(made.ctx, made.broker):
        yield made


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def tar_of(path: Path, members: Mapping[str, bytes]) -> Path:
    """A flat tar.gz of these files."""
    with tarfile.open(path, "w:gz") as tar:
        for name, body in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            tar.addfile(entry, io.BytesIO(body))
    return path


def small_files(tar: Path) -> dict[str, bytes]:
    """metadata.properties and creation.meta of a segment's tar."""
    with tarfile.open(tar) as opened:
        found = {m.name.rpartition("/")[2]: opened.extractfile(m) for m in opened if m.isreg()}
        return {name: found[name].read() for name in ("metadata.properties", "creation.meta")}
