"""A real Pinot beside the cluster in memory, for API tests: its controller is a handler that remembers what it was
asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import httpx

from segments import wiring
from segments.clusters.pinot.engine import pinot_engine
from segments.gateways.pinot import Credentials
from segments.models import Cluster
from segments.services.core.context import Limits
from tests.api.cluster import ApiCluster
from tests.pinot_cluster.fake_rest import FakePinot, controller

NAME = "prod"
SECRET = "controller-secret"


@dataclass
class Seen:
    """One request as Pinot got it."""

    method: str
    target: str
    headers: httpx.Headers
    body: bytes


@dataclass
class RealPinot:
    """``answer`` decides what Pinot answers to any path but those that name its cluster; ``seen`` are those
    requests.
    """

    answer: Callable[[httpx.Request], httpx.Response] = lambda _: httpx.Response(200, json={"from": "pinot"})
    seen: list[Seen] = field(default_factory=list)
    fake: FakePinot = field(default_factory=FakePinot)
    forget: Callable[[], None] = lambda: None

    def handle(self, request: httpx.Request) -> httpx.Response:
        """Remember it, then answer."""
        if request.url.path in ("/cluster/info", "/version"):
            return self.known(request)
        self.seen.append(Seen(request.method, request.url.raw_path.decode(), request.headers, request.read()))
        return self.answer(request)

    def version(self, text: str) -> None:
        """From now on it is of this version, and what was known of that is forgotten."""
        self.fake.version = text
        self.forget()

    def known(self, request: httpx.Request) -> httpx.Response:
        """Which cluster, which version."""
        broken, self.fake.broken = self.fake.broken, None
        try:
            return self.fake.handle(request)
        finally:
            self.fake.broken = broken


@contextmanager
def real_pinot(cluster: ApiCluster, limits: Limits | None = None) -> Iterator[RealPinot]:
    """Cluster ``prod`` of kind pinot for the time of a test."""
    Cluster.objects.create(
        name=NAME, kind=Cluster.Kind.PINOT, controller_urls=["http://controller:9000"], state=Cluster.State.UP
    )
    found = RealPinot()
    found.fake.broken = found.handle
    gateway = controller(found.fake, credentials=Credentials("basic", "robot", SECRET))
    found.forget = lambda: setattr(gateway, "_version", None)
    with wiring.use_cluster(
        replace(cluster.ctx, cluster=NAME, engine=pinot_engine(gateway), limits=limits or cluster.ctx.limits)
    ):
        yield found
    gateway.close()
