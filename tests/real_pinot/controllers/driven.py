"""How tests reach a real controller: through our gateway and services, or as a caller of Pinot's own REST does."""

from __future__ import annotations

import base64
import time
import uuid
from pathlib import Path
from typing import Any

import httpx

from segments.clusters.pinot.engine import pinot_engine
from segments.gateways.deep_store.deepstore import DeepStore
from segments.gateways.pinot import Connection, Credentials, HttpPinotController
from segments.names import OFFLINE, REALTIME, TableName
from segments.services.core.context import Actor, Context, Limits
from segments.store.memory import MemoryStore
from segments.store.on_pinot.controller import ControllerStore
from segments.store.on_pinot.overlay import OverlayStore
from segments.store.on_pinot.zookeeper import PinotZooKeeper
from tests.integration.running import Client, config_of, schema_of
from tests.real_pinot.controllers.running import USERS, NewerController
from tests.waiting import wait_until

ANN = Actor("ann", "a test")


class Losing(httpx.HTTPTransport):
    """Everything is sent; the answer to the next change whose path ends with ``lost`` does not arrive."""

    lost: str = ""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if self.lost and request.method != "GET" and request.url.path.endswith(self.lost):
            self.lost = ""
            response.close()
            raise httpx.ReadTimeout("timed out", request=request)
        return response


class Driven:
    """One controller as we drive it (``ctx``) and as any caller of Pinot does (``raw``). Close it at the end."""

    def __init__(self, controller: NewerController, folder: Path, *, over_zookeeper: bool, user: str = "admin") -> None:
        self.controller, self.folder = controller, folder
        self.raw = Client({"controller": controller.url, "authorization": basic(user) if controller.is_guarded else ""})
        credentials = Credentials("basic", user, USERS[user][0]) if controller.is_guarded else Credentials()
        self.transport = Losing()
        connection = Connection("newer", (controller.url,), cluster=controller.cluster, credentials=lambda: credentials)
        gateway = HttpPinotController(connection, transport=self.transport)
        theirs = (
            PinotZooKeeper(controller.zookeeper, lambda: controller.cluster)
            if over_zookeeper
            else ControllerStore(gateway)
        )
        self._closing = (theirs, gateway)
        own = MemoryStore()
        folder.mkdir(parents=True, exist_ok=True)
        self.ctx = Context(
            cluster="newer", store=OverlayStore(lambda: own, "newer", theirs), deep_store=DeepStore(folder.as_uri()),
            clock=lambda: time.time_ns() // 1_000_000, new_id=lambda: str(uuid.uuid4()), controller_url=controller.url,
            limits=Limits(replicas_online_s=60.0, broker_ack_s=1.0), engine=pinot_engine(gateway),
        )  # fmt: skip

    @property
    def version(self) -> str:
        return self.controller.version

    def close(self) -> None:
        for part in self._closing:
            part.close()

    def offline_table(self, *segments: str, config: dict[str, Any] | None = None) -> TableName:
        """A REFRESH table with these segments, ONLINE."""
        name = f"t_{uuid.uuid4().hex[:8]}"
        self.raw.call("POST", "/schemas", json=schema_of(name))
        self.raw.call("POST", "/tables", json={**config_of(name), **(config or {})})
        if segments:
            self.raw.upload(name, *segments)
            self.raw.online(name, *segments)
        return TableName(name, OFFLINE)

    def realtime_table(self, *, is_served: bool = True, **more: Any) -> TableName:
        """A table with a consuming segment for each of two partitions of the stream that stands in."""
        name = f"r_{uuid.uuid4().hex[:8]}"
        self.raw.call("POST", "/schemas", json=schema_of(name))
        # pinot-segment-local of 1.2.0, which reads stream configs, is not to be had, and that of 1.3.0 needs later
        # libraries.
        skip = {"validationTypesToSkip": "ALL"} if self.version == "1.2.0" else {}
        self.raw.call("POST", "/tables", json=realtime_config(name) | more, params=skip)
        table = TableName(name, REALTIME)
        # What consumes is shown by the external view only: before it, nobody can be asked to commit.
        wait_until(lambda: not is_served or self.view(table) == self.ideal(table) != {}, 60.0, f"{name} consumes")
        return table

    def ideal(self, table: TableName) -> dict[str, dict[str, str]]:
        """The controller's ideal state, now."""
        return self._states(table, "idealstate")

    def view(self, table: TableName) -> dict[str, dict[str, str]]:
        """What the stand-ins have reached."""
        return self._states(table, "externalview")

    def _states(self, table: TableName, kind: str) -> dict[str, dict[str, str]]:
        found = self.raw.http.get(f"{self.raw.base}/tables/{table.raw}/{kind}", timeout=60)
        return dict(found.json()[table.type] or {}) if found.status_code == 200 else {}


def basic(user: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{USERS[user][0]}".encode()).decode()


def realtime_config(name: str, topics: int = 1) -> dict[str, Any]:
    """Reads the stream that stands in."""
    prefix = "stream.standin"
    stream = {
        "streamType": "standin",
        f"{prefix}.topic.name": name,
        f"{prefix}.consumer.type": "lowlevel",
        f"{prefix}.consumer.factory.class.name": "pinotadmin.standins.Stream",
        f"{prefix}.consumer.prop.auto.offset.reset": "smallest",
        f"{prefix}.decoder.class.name": "org.apache.pinot.plugin.inputformat.json.JSONMessageDecoder",
        "realtime.segment.flush.threshold.rows": "1000",
    }
    return {
        "tableName": name,
        "tableType": "REALTIME",
        "tenants": {},
        "metadata": {},
        "segmentsConfig": {
            "timeColumnName": "day",
            "replication": "2",
            "replicasPerPartition": "2",
            "schemaName": name,
        },
        "tableIndexConfig": {"loadMode": "MMAP", "streamConfigs": stream},
    }
