"""What a Pinot cluster's row becomes: its context, with the controller, the overlay store and a way to query it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from segments.models import Cluster
from segments.services.context import Context
from segments.store.base import Store


@dataclass(frozen=True)
class Installation:
    """What the clusters of one installation share."""

    own_store: Callable[[], Store]
    data_dir: Path
    deep_store_url: str
    clock: Callable[[], int]
    new_id: Callable[[], str]
    entry_lease_s: float


class PinotParts:
    """The open connections to one Pinot cluster, as ``row`` had it when they were made."""

    def __init__(self, row: Cluster, installation: Installation) -> None:
        raise NotImplementedError

    @property
    def context(self) -> Context:
        """What use cases work with."""
        raise NotImplementedError

    def fits(self, row: Cluster) -> bool:
        """Is the row still the one that these connections were made for?"""
        raise NotImplementedError

    def close(self) -> None:
        """Close them."""
