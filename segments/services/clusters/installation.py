"""What use cases of clusters know of the installation that they belong to; the wiring hands it in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from segments.gateways.deep_store.access import StoreAccess
from segments.gateways.input_files.rules import InputRules
from segments.models import Cluster
from segments.services.clusters.cluster_check import ClusterCheck
from segments.services.core.context import Limits
from segments.services.jobs.queue import TaskQueue
from segments.store.base import Store


@dataclass(frozen=True)
class Installation:
    """What the clusters of one installation share."""

    own_name: str
    own_store: Callable[[], Store]
    data_dir: Path
    deep_store_url: str
    clock: Callable[[], int]
    new_id: Callable[[], str]
    limits: Limits
    #: Asks a cluster everything that must be right before it can be driven; the secrets given ({part: secret}) take the
    #: place of stored ones. Writes nothing, and never raises for what it finds.
    check: Callable[[Cluster, Path, Mapping[str, str] | None], ClusterCheck]
    #: The workers' queue for what is to run on the cluster of a name.
    queue: Callable[[str], TaskQueue]
    #: Where input files are read, and as whom.
    inputs: InputRules
    #: How deep stores are reached whose addresses say nothing else.
    store_access: StoreAccess = field(default_factory=StoreAccess)


_installation: list[Callable[[], Installation]] = []


def bind(build: Callable[[], Installation]) -> None:
    """Give use cases of clusters their installation; called once, by the wiring."""
    _installation[:] = [build]


def installation() -> Installation:
    """The installation as it is configured now."""
    return _installation[0]()
