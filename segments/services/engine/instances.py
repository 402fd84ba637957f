"""Instances, cluster settings and messages to servers, as every kind of cluster offers it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from segments.names import TableName
from segments.services.core.context import Context

#: Seconds for one server's answer, where nobody says otherwise.
ANSWER_S: Final = 10.0


@dataclass(frozen=True)
class Answers:
    """What servers answered: {server: its JSON}; those that did not answer, and those whose answer made no sense."""

    by_server: Mapping[str, Any] = field(default_factory=dict)
    silent: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


class InstanceEngine(Protocol):
    """Instances, cluster settings and messages to servers.

    Embedded: compare-and-set of records, and messages of our own to servers. Pinot: its controller is sent each change
    once; after a lost answer its state is read, and what cannot be seen there is sent again, since it may be made
    twice.
    """

    def add_instance(self, ctx: Context, name: str, address: tuple[str, int], kind: str, tags: Sequence[str]) -> None:
        """Register an instance that has not joined yet; ``kind`` is SERVER, BROKER, CONTROLLER or MINION.
        StateConflict when it is known.
        """

    def set_instance_state(self, ctx: Context, name: str, *, is_enabled: bool) -> None:
        """Enable an instance, or disable it. NotFound when it never joined.

        Embedded: a disabled server gets no queries where another replica answers, and no new segments, but what it
        consumes goes on. Pinot: it serves nothing until it is enabled.
        """

    def set_instance_tags(self, ctx: Context, name: str, tags: Sequence[str]) -> None:
        """Give an instance exactly these tags. NotFound when it never joined."""

    def drop_instance(self, ctx: Context, name: str) -> None:
        """Forget an instance. NotFound; StateConflict while it is alive or in use."""

    def read_settings(self, ctx: Context) -> dict[str, str]:
        """All cluster-wide settings, secrets as they are."""

    def change_settings(self, ctx: Context, changes: Mapping[str, str | None]) -> None:
        """Set these settings, or remove those that are None. Pinot: one by one, so a failure may leave some changed."""

    def start_own_pass(self, ctx: Context, name: str, table: TableName | None) -> list[str]:
        """Have the cluster's own controllers run a pass of ``Offers.own_passes`` over a table, or all; what to say.

        Pinot: returns at once; Unavailable when no controller takes it up. Embedded: has none, so StateConflict.
        """

    def reset_segment(self, ctx: Context, table: TableName, segment: str, *, target: str | None) -> int:
        """Reset the segment's replicas, or that on instance ``target``; returns how many were asked to.

        NotFound: no such segment, or ``target`` does not hold it.
        """

    def reset_table(self, ctx: Context, table: TableName, *, errors_only: bool, target: str | None) -> int:
        """As ``reset_segment`` for every segment; with ``errors_only`` for replicas in ERROR.

        Pinot: versions that cannot restrict it to those are asked segment by segment.
        """

    def reload_segments(
        self, ctx: Context, table: TableName, segments: Collection[str] | None, *, force_download: bool
    ) -> dict[str, Any]:
        """Have servers load these segments, None: all of the table, again; Pinot's answer with the messages sent and
        the job's id. NotFound: no such table or segment.
        """

    def ask_servers(
        self, ctx: Context, servers: list[str], path: str, is_readable: Callable[[Any], bool], *,
        method: str = "GET", timeout_s: float = ANSWER_S,
    ) -> Answers:  # fmt: skip
        """Ask several servers at once over their admin port; one that is not alive is not waited for. Pinot: none is
        asked, so all are silent: its servers do not answer our calls.
        """
