"""Clusters as people handle them: add, change, check, list and remove. Removing forgets ours; Pinot itself is never touched."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from segments.models import Cluster
from segments.services.context import Actor


@dataclass(frozen=True)
class ClusterSpec:
    """A Pinot cluster as it is asked for. ``secret`` is given as text (kept in a private file), or named by ``secret_source``
    (``env:NAME`` or ``file:PATH``); both empty keep what is stored when the cluster is changed."""

    name: str
    controller_urls: tuple[str, ...]
    broker_url: str = ""
    zookeeper: str = ""
    zookeeper_cluster: str = ""
    deep_store_url: str = ""
    auth: str = ""
    auth_user: str = ""
    secret: str = field(default="", repr=False)
    secret_source: str = ""
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    tls_insecure: bool = False


@dataclass(frozen=True)
class CheckStep:
    """One question that was asked: ``ok`` None when it did not apply or could not be asked."""

    name: str
    ok: bool | None
    message: str
    remedy: str = ""


@dataclass(frozen=True)
class ClusterCheck:
    """What a look at a cluster found; ``state`` as in ``Cluster.State``."""

    cluster: str
    state: str
    version: str
    steps: tuple[CheckStep, ...]

    @property
    def is_ok(self) -> bool:
        """Is nothing wrong?"""
        return all(step.ok is not False for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """For the API."""
        steps = [{"name": s.name, "ok": s.ok, "message": s.message, "remedy": s.remedy} for s in self.steps]
        return {"cluster": self.cluster, "state": self.state, "version": self.version, "ok": self.is_ok, "steps": steps}


def add_cluster(spec: ClusterSpec, actor: Actor) -> Cluster:
    """Add a Pinot cluster. InvalidInput for values that can not be, StateConflict when the name is taken. Asks nobody: check it then."""
    raise NotImplementedError


def change_cluster(spec: ClusterSpec, actor: Actor) -> Cluster:
    """Change how a Pinot cluster is reached; connections are made anew within seconds. NotFound, InvalidInput."""
    raise NotImplementedError


def check_cluster(name: str, actor: Actor | None = None) -> ClusterCheck:
    """Ask the cluster: controller reachable, credentials, certificate, version, the cluster we know, ZooKeeper the same? Writes the
    row's state. NotFound; never raises for what it finds."""
    raise NotImplementedError


def list_clusters() -> list[Cluster]:
    """All clusters, the installation's own first."""
    raise NotImplementedError


def remove_cluster(name: str, actor: Actor) -> None:
    """Forget a Pinot cluster: row, mirror, secret, what we keep of it in our own ZooKeeper. Pinot is not touched. NotFound; Forbidden for
    the embedded cluster."""
    raise NotImplementedError
