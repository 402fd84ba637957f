"""A Pinot controller's REST over a store in memory, and every way in which one misbehaves; nothing
listens on a port.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import orjson

from segments.domain.formats.znrecord import ZNRecord
from segments.gateways.pinot import Connection, Credentials, HttpPinotController
from segments.store.memory import MemoryStore

CLUSTER = "PinotCluster"
URL = "http://controller:9000"

Handler = Callable[[httpx.Request], httpx.Response]


@dataclass
class FakePinot:
    """``store`` holds the znodes below ``/<cluster>``. ``routes`` answer before all else: {(method, path): handler};
    ``broken`` does so for every request, and may raise what a connection raises.
    """

    store: MemoryStore = field(default_factory=MemoryStore)
    cluster: str = CLUSTER
    version: str = "1.2.0"
    authorization: str = ""
    calls: Counter[str] = field(default_factory=Counter)
    routes: dict[tuple[str, str], Handler] = field(default_factory=dict)
    broken: Handler | None = None
    down: set[str] = field(default_factory=set)

    def transport(self) -> httpx.MockTransport:
        """What a client sends through."""
        return httpx.MockTransport(self.handle)

    def handle(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.calls[path] += 1
        if request.url.host in self.down:
            raise httpx.ConnectError("[Errno 111] Connection refused", request=request)
        if self.broken is not None:
            return self.broken(request)
        if self.authorization and request.headers.get("authorization") != self.authorization:
            return httpx.Response(401, text="HTTP 401 Unauthorized")
        route = self.routes.get((request.method, path))
        if route is not None:
            return route(request)
        match path:
            case "/cluster/info":
                return httpx.Response(200, json={"clusterName": self.cluster})
            case "/version":
                return httpx.Response(
                    200, json={"pinot-segment-uploader-default": self.version, "pinot-controller": self.version}
                )
            case "/health":
                return httpx.Response(200, text="OK")
        if path.startswith("/zk/"):
            return self._znode(path[4:], request.url.params.get("path", ""))
        return httpx.Response(404, json={"code": 404, "error": f"HTTP 404 Not Found: {path}"})

    def _znode(self, verb: str, full: str) -> httpx.Response:
        root = f"/{self.cluster}"
        if full != root and not full.startswith(root + "/"):
            return httpx.Response(404, json={"code": 404, "error": f"ZKPath {full} does not exist"})
        path = full[len(root) :] or "/"
        node = self.store.tree.nodes.get(path)
        if node is None:
            return httpx.Response(404, json={"code": 404, "error": f"ZKPath {full} does not exist"})
        match verb:
            case "get":
                return self._record(path)
            case "ls":
                return httpx.Response(200, json=self.store.children(path))
            case "stat":
                return httpx.Response(200, json=self._stat(path))
            case "lsl":
                base = path.rstrip("/")
                return httpx.Response(
                    200, json={name: self._stat(f"{base}/{name}") for name in self.store.children(path)}
                )
            case "getChildren":
                found = [self.store.get(f"{path}/{name}") for name in self.store.children(path)]
                records = [_body(node.record) for node in found if node and node.record]
                return httpx.Response(200, content=orjson.dumps(records, option=orjson.OPT_INDENT_2))
        return httpx.Response(404, json={"code": 404, "error": "HTTP 404 Not Found"})

    def _record(self, path: str) -> httpx.Response:
        data = self.store.tree.nodes[path].data
        if data and not data.startswith((b"{", b"\x1f\x8b")):
            return httpx.Response(500, json={"code": 500, "error": "Failed to deserialize"})
        node = self.store.get(path)
        assert node is not None
        if node.record is None:
            return httpx.Response(204)
        return httpx.Response(200, content=orjson.dumps(_body(node.record), option=orjson.OPT_INDENT_2))

    def _stat(self, path: str) -> dict[str, int]:
        node = self.store.tree.nodes[path]
        below = self.store.children(path)
        return {
            "czxid": 1,
            "mzxid": node.mzxid,
            "ctime": node.modified_ms,
            "mtime": node.modified_ms,
            "version": node.version,
            "cversion": len(below),
            "aversion": 0,
            "ephemeralOwner": node.owner,
            "dataLength": len(node.data),
            "numChildren": len(below),
            "pzxid": self.store.tree.kids_changed.get(path, 0),
        }


def controller(pinot: FakePinot, *urls: str, **more: Any) -> HttpPinotController:
    """A gateway to it that never sleeps."""
    credentials = more.pop("credentials", Credentials())
    connection = Connection("prod", urls or (URL,), credentials=lambda: credentials, **more)
    return HttpPinotController(connection, transport=pinot.transport(), sleep=lambda _: None)


def _body(record: ZNRecord | None) -> dict[str, Any]:
    assert record is not None
    return {"id": record.id, "simpleFields": record.simple, "mapFields": record.maps, "listFields": record.lists}
