"""Asks a Pinot cluster everything that must be right before it can be driven: one sentence for each answer, whatever
goes wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from segments.clusters.pinot.connections.cluster_context import connection_of, zookeeper_of
from segments.domain.formats.plural import counted
from segments.domain.pinot.capabilities import parse_version
from segments.errors import PinotAdminError
from segments.gateways.pinot import Connection, HttpPinotController, PinotController, PinotRefused
from segments.gateways.pinot.refusals import DOWN, UP, WRONG_CLUSTER
from segments.models import Cluster
from segments.services.clusters.cluster_check import CheckStep, ClusterCheck
from segments.store import paths
from segments.store.base import Store

#: Seconds for one answer; somebody waits for all of them.
_PATIENCE_S: Final = 6.0
#: Reads of the same znode on two ways until they agree: it may be written in between.
_TRIES: Final = 3


@dataclass
class _Seen:
    """What was found so far."""

    steps: list[CheckStep]
    state: str = ""
    error: str = ""
    version: str = ""
    named: str = ""
    typed: Mapping[str, str] = field(default_factory=dict, repr=False)

    def wrong(self, name: str, error: PinotAdminError, state: str = "") -> None:
        """A question whose answer is bad; the first bad one of the controller is what the row says."""
        self.steps.append(CheckStep(name, False, error.message, error.remedy))
        if state and self.state in ("", UP):
            self.state, self.error = state, str(error)


def check_row(row: Cluster, data_dir: Path, typed: Mapping[str, str] | None = None) -> ClusterCheck:
    """Ask each address, then ZooKeeper and broker; writes nothing.

    The row need not be stored, and ``typed`` ({part: secret}) takes the place of secrets that are.
    """
    seen = _Seen([], typed=typed or {})
    answering = [
        controller
        for url in row.controller_urls
        if (controller := _ask_controller(row, data_dir, url, seen)) is not None
    ]
    _note_encryption(row, seen)
    if answering:
        # One address that answers is enough to work with; what is wrong with the others is in their steps.
        seen.state, seen.error = (seen.state, seen.error) if seen.state == WRONG_CLUSTER else (UP, "")
    if row.zookeeper:
        _ask_zookeeper(row, data_dir, answering[0] if answering else None, seen)
    if row.broker_url:
        _ask_broker(row, data_dir, seen)
    for controller in answering:
        controller.close()
    return ClusterCheck(row.name, seen.state or DOWN, seen.version, tuple(seen.steps), seen.error, seen.named)


def _ask_controller(row: Cluster, data_dir: Path, url: str, seen: _Seen) -> PinotController | None:
    """The address's controller when it can be used, and belongs to the cluster that we know."""
    controller = HttpPinotController(_hurried(connection_of(row, data_dir, typed=seen.typed), url))
    name = f"controller {url}"
    try:
        named, version = controller.cluster(), controller.version()
    except PinotAdminError as error:
        seen.wrong(name, error, str(error.data.get("state", DOWN)))
        controller.close()
        return None
    if seen.named and named != seen.named:
        text = f"{url} belongs to the Pinot cluster '{named}', the address before it to '{seen.named}'."
        seen.wrong(name, PinotAdminError(text, remedy="Give controllers of one cluster."), WRONG_CLUSTER)
        controller.close()
        return None
    seen.named, seen.version = named, seen.version or version
    known = "" if parse_version(version) else ", which is not a version that we can read"
    seen.steps.append(
        CheckStep(name, True, f"Answers for the Pinot cluster '{named}', version {version or 'unknown'}{known}.")
    )
    return controller


def _hurried(connection: Connection, url: str) -> Connection:
    return Connection(
        name=connection.name,
        urls=(url,),
        cluster=connection.cluster,
        is_controller=connection.is_controller,
        credentials=connection.credentials,
        tls=connection.tls,
        connect_s=min(connection.connect_s, 3.0),
        read_s=_PATIENCE_S,
    )


def _note_encryption(row: Cluster, seen: _Seen) -> None:
    addresses = [urlsplit(url) for url in (*row.controller_urls, row.broker_url) if url]
    if any(a.scheme == "https" for a in addresses) and row.tls_insecure:
        text = "Certificates are not checked: anybody in between can read and change what is sent."
        seen.steps.append(CheckStep("certificates", None, text, "Give the file of the authority instead (--tls-ca)."))
    open_hosts = [
        a.hostname for a in addresses if a.scheme == "http" and a.hostname not in ("localhost", "127.0.0.1", "::1")
    ]
    if row.auth and open_hosts:
        seen.steps.append(
            CheckStep(
                "encryption", None, f"Credentials are sent to {open_hosts[0]} unencrypted.", "Use https where you can."
            )
        )


def _ask_zookeeper(row: Cluster, data_dir: Path, controller: PinotController | None, seen: _Seen) -> None:
    named = row.zookeeper_cluster or row.pinot_name or seen.named
    if not named:
        seen.steps.append(
            CheckStep("zookeeper", None, "Not asked: the cluster's name is known from its controller only.", "Name it.")
        )
        return
    store = zookeeper_of(row, data_dir, lambda: named, seen.typed)
    try:
        tables = len(store.children(paths.TABLE_CONFIGS))
        is_same = None if controller is None else _is_same(controller, store, seen.named)
    except PinotAdminError as error:
        seen.wrong("zookeeper", error, WRONG_CLUSTER if error.data.get("state") == WRONG_CLUSTER else "")
        return
    finally:
        store.close()
    if is_same is False:
        text = (
            f"ZooKeeper at {row.zookeeper} holds another cluster '{named}' than the one that the controller works with."
        )
        seen.wrong(
            "zookeeper",
            PinotAdminError(text, remedy="Correct its address, its path or the cluster's name."),
            WRONG_CLUSTER,
        )
        return
    doubt = "" if is_same else " Whether it is the controller's could not be compared."
    seen.steps.append(
        CheckStep("zookeeper", True, f"Holds the cluster '{named}' with {counted(tables, 'table')}.{doubt}")
    )


def _is_same(controller: PinotController, store: Store, named: str) -> bool | None:
    """Do both show the same write of the same znode? The number of a write is another one in every other ensemble.
    None: unknown.
    """
    path = f"{paths.CLUSTER_CONFIGS}/{named}"
    for _ in range(_TRIES):
        try:
            stat = controller.get("/zk/stat", {"path": f"/{named}{path}"})
            theirs = (int(stat["mzxid"]), int(stat["mtime"]))
        except (PinotRefused, KeyError, TypeError, ValueError):
            return None
        node = store.get(path)
        if node is not None and (node.mzxid, node.modified_ms) == theirs:
            return True
    return False


def _ask_broker(row: Cluster, data_dir: Path, seen: _Seen) -> None:
    broker = HttpPinotController(
        _hurried(connection_of(row, data_dir, broker_url=row.broker_url, typed=seen.typed), row.broker_url)
    )
    try:
        broker.text("/health")
    except PinotAdminError as error:
        seen.wrong("broker", error)
    else:
        seen.steps.append(CheckStep("broker", True, f"The broker {row.broker_url} is up."))
    finally:
        broker.close()
