"""Clusters as the header, the banner and their own pages show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest

from segments import wiring
from segments.console.cluster_address import cluster_of
from segments.console.presenters.badges import Mark
from segments.models import Cluster
from segments.services.core.page_addresses import address_in, default_cluster
from segments.services.engine import Offers

_MARKS: Final = {
    Cluster.State.UNKNOWN: Mark("not asked yet", "idle", "clock"),
    Cluster.State.UP: Mark("up", "ok", "check"),
    Cluster.State.DOWN: Mark("down", "bad", "cross"),
    Cluster.State.REFUSED: Mark("refuses us", "bad", "cross"),
    Cluster.State.UNTRUSTED: Mark("not trusted", "bad", "cross"),
    Cluster.State.UNEXPECTED: Mark("answers nonsense", "bad", "cross"),
    Cluster.State.WRONG_CLUSTER: Mark("another cluster", "bad", "cross"),
}
_BEHIND: Final = Mark("mirror is behind", "warn", "alert")
_OWN: Final = Mark("own", "idle", "dot")


@dataclass(frozen=True)
class ClusterLine:
    """One cluster: its row, its state as a badge, the address of its pages. ``key`` changes when there is something new
    to show.
    """

    row: Cluster
    mark: Mark
    address: str
    is_current: bool

    @property
    def is_down(self) -> bool:
        """Can it not be used now?"""
        return self.row.has_connection and self.row.state not in (Cluster.State.UP, Cluster.State.UNKNOWN)

    @property
    def is_trouble(self) -> bool:
        """Is there something that every page of it should say?"""
        return self.row.is_trouble

    @property
    def key(self) -> str:
        """Stands for what the banner says."""
        if not self.is_trouble:
            return self.row.mirror_progress
        return f"{self.row.state}{'-behind' if self.row.mirror_error else ''}"

    @property
    def page(self) -> str:
        """The address of its own page."""
        return address_in(self.row.name, "console:cluster")


@dataclass(frozen=True)
class ClusterFrame:
    """What the frame of a page needs: the cluster that it is about, and all of them."""

    current: ClusterLine
    lines: Sequence[ClusterLine]

    @property
    def offers(self) -> Offers:
        """What this cluster has that others have not."""
        return wiring.offers_of(self.current.row)

    @property
    def is_default(self) -> bool:
        """Is the page about the installation's own cluster?"""
        return self.current.row.name == default_cluster()

    @property
    def has_banner(self) -> bool:
        """Is there, or may there come, something that every page of the cluster should say?"""
        return not self.is_default or bool(self.current.row.mirror_progress)


def cluster_frame(request: HttpRequest) -> ClusterFrame:
    """One query, the installation's own cluster first; it stands there even before the mirror has seen it."""
    rows = {row.name: row for row in Cluster.objects.all()}
    own = rows.pop(default_cluster(), None) or Cluster(name=default_cluster())
    lines = [cluster_line(request, row) for row in (own, *rows.values())]
    return ClusterFrame(next((line for line in lines if line.is_current), lines[0]), lines)


def cluster_line(request: HttpRequest, row: Cluster) -> ClusterLine:
    """A cluster's line."""
    return ClusterLine(row, _mark(row), address_in(row.name, "console:tables"), row.name == cluster_of(request))


def _mark(row: Cluster) -> Mark:
    if not row.has_connection:
        return _OWN
    state = Cluster.State(row.state) if row.state in Cluster.State.values else Cluster.State.UNKNOWN
    return _BEHIND if state is Cluster.State.UP and row.mirror_error else _MARKS[state]
