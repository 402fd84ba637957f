"""What a worker of a consuming segment asks of the server that runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from segments.dataplane.server.consuming.partition_reader import PartitionReader
from segments.dataplane.server.consuming.source import Source
from segments.dataplane.server.held.held_segment import HeldSegment
from segments.domain.realtime.streams.stream_offset import Offset

if TYPE_CHECKING:
    from segments.dataplane.server.consuming.worker import Worker


class Host(Protocol):
    """Where a worker's results go; called on the worker's thread."""

    def changed(self, worker: Worker) -> None:
        """Its reported state changed."""

    def ended(self, worker: Worker) -> None:
        """It will do nothing more; somebody may have to download the segment."""

    def install(self, worker: Worker, held: HeldSegment) -> bool:
        """The committed file answers from now on; False: nobody wants it any more."""

    def seal(self, worker: Worker, held: HeldSegment) -> bool:
        """The file that is about to be committed answers from now on, the worker goes on; False: nobody wants it."""

    def failed(self, worker: Worker, error: str) -> None:
        """It cannot go on; ``error`` says why. Without one: the segment has to begin again."""

    def read_ahead(self, intake: PartitionReader) -> None:
        """The segment is full: its successor's rows may be read."""

    def has_read_on(self, intake: PartitionReader) -> bool:
        """Are there rows behind these, or are they being read?"""

    def seen_to(self, source: Source) -> Offset | None:
        """Up to where queries saw rows of a paused partition that are not in memory any more; None: nowhere."""

    def take_ahead(self, source: Source) -> PartitionReader | None:
        """Rows that were read ahead for this segment."""

    def is_before_complete(self, worker: Worker, start: Offset) -> bool:
        """Are all rows of the partition before ``start``, where this segment begins, on this server?"""

    def is_before_settled(self, worker: Worker) -> bool:
        """Is this server's segment before it, if it has one, sure to show no row that the next one has too?"""
