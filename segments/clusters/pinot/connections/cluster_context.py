"""What a Pinot cluster's row becomes: its context, with the controller, the overlay store and a way to query it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from segments.clusters.pinot.connections.secret import find_secret
from segments.clusters.pinot.engine import pinot_engine
from segments.gateways.deep_store.deepstore import DeepStore
from segments.gateways.deep_store.no_deep_store import open_deep_store
from segments.gateways.pinot import Connection, Credentials, HttpPinotController, PinotBroker, PinotController, Tls
from segments.models import Cluster
from segments.services.clusters.cluster_secrets import CONTROLLER, ZOOKEEPER
from segments.services.clusters.cluster_spec import CONFIGURED
from segments.services.clusters.installation import Installation
from segments.services.core.context import Context
from segments.store.base import Store
from segments.store.on_pinot.controller import ControllerStore
from segments.store.on_pinot.overlay import OverlayStore
from segments.store.on_pinot.zookeeper import PinotZooKeeper
from segments.store.on_zookeeper.login import DIGEST, ZooKeeperLogin

#: Before the address of a ZooKeeper that is reached over TLS.
_TLS: Final = "tls://"
_NONE: Final[Mapping[str, str]] = {}


def _deep_store(row: Cluster, installation: Installation) -> DeepStore:
    """The cluster's own, else a folder of the installation's, which may have none."""
    access = installation.store_access
    if row.deep_store_url:
        return DeepStore(row.deep_store_url, access=access)
    return open_deep_store(installation.deep_store_url, access=access).below(f"CLUSTERS/{row.name}")


class PinotClusterContext:
    """The open connections to one Pinot cluster, as ``row`` had it then. Making them connects nowhere."""

    def __init__(self, row: Cluster, installation: Installation) -> None:
        self._made_for = _fingerprint(row)
        self.controller: PinotController = HttpPinotController(connection_of(row, installation.data_dir))
        self._broker = self._open_broker(row, installation)
        self.pinot_store = self._open_store(row, installation.data_dir)
        self.context = Context(
            cluster=row.name,
            store=OverlayStore(installation.own_store, row.name, self.pinot_store),
            deep_store=_deep_store(row, installation),
            clock=installation.clock,
            new_id=installation.new_id,
            controller_url=str(row.controller_urls[0]),
            limits=installation.limits,
            queue=installation.queue(row.name),
            inputs=installation.inputs,
            engine=pinot_engine(
                self.controller,
                PinotBroker(self._broker, "/query/sql") if self._broker else PinotBroker(self.controller),
            ),
        )

    def fits(self, row: Cluster) -> bool:
        """Is the row still the one that these connections were made for?"""
        return self._made_for == _fingerprint(row)

    def close(self) -> None:
        """Close them; the installation's own store is left alone."""
        self.pinot_store.close()
        self.controller.close()
        if self._broker is not None:
            self._broker.close()

    def _open_store(self, row: Cluster, data_dir: Path) -> Store:
        if row.zookeeper:
            named = row.zookeeper_cluster or row.pinot_name
            return zookeeper_of(row, data_dir, (lambda: named) if named else self.controller.cluster)
        return ControllerStore(self.controller)

    def _open_broker(self, row: Cluster, installation: Installation) -> HttpPinotController | None:
        if not row.broker_url:
            return None
        return HttpPinotController(connection_of(row, installation.data_dir, broker_url=row.broker_url))


def zookeeper_of(
    row: Cluster, data_dir: Path, cluster: Callable[[], str], typed: Mapping[str, str] = _NONE
) -> PinotZooKeeper:
    """How to read the cluster's ZooKeeper; the password of its login is read when it is opened. ``typed``: see
    ``connection_of``.
    """

    def login() -> ZooKeeperLogin:
        way = ZooKeeperLogin()
        if address:
            way = ZooKeeperLogin(
                tls=True, ca=row.tls_ca, certificate=row.tls_cert, key=row.tls_key, insecure=row.tls_insecure
            )
        if not row.zookeeper_user:
            return way
        password = typed.get(ZOOKEEPER) or find_secret(data_dir, row.name + ZOOKEEPER, row.zookeeper_source)
        prefix, _, user = row.zookeeper_user.rpartition(":")
        return replace(way, scheme=prefix or DIGEST, user=user, password=password)

    address = row.zookeeper.removeprefix(_TLS) if row.zookeeper.startswith(_TLS) else ""
    return PinotZooKeeper(address or row.zookeeper, cluster, login=login)


def connection_of(
    row: Cluster, data_dir: Path, *, broker_url: str = "", typed: Mapping[str, str] = _NONE
) -> Connection:
    """How to reach the cluster's controller, or its broker. ``typed``: {part: secret} to try instead of those kept."""

    def credentials() -> Credentials:
        if not row.auth:
            return Credentials()
        return Credentials(
            row.auth, row.auth_user, typed.get(CONTROLLER) or find_secret(data_dir, row.name, row.auth_source)
        )

    return Connection(
        name=row.name,
        urls=(broker_url,) if broker_url else tuple(map(str, row.controller_urls)),
        cluster=row.pinot_name,
        is_controller=not broker_url,
        credentials=credentials,
        tls=Tls(row.tls_ca, row.tls_cert, row.tls_key, row.tls_insecure),
    )


def _fingerprint(row: Cluster) -> tuple[str, ...]:
    return tuple(str(getattr(row, name)) for name in CONFIGURED)
