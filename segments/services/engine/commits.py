"""The controller's side of commits, as a cluster offers it whose servers report to this installation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from segments.domain.realtime.completion import Answer, Kind, Status
from segments.domain.realtime.llc_name import LLCName
from segments.names import TableName
from segments.segmentfile.format.info import SegmentInfo

if TYPE_CHECKING:
    from segments.services.core.context import Context

#: The answer to everything that is wrong, as Pinot's servers expect it.
FAILED: Final = Answer(Status.FAILED)


@dataclass(frozen=True)
class Received:
    """One message as it came in. ``rows``, ``size_bytes``, ``location`` and ``info`` describe a commit; ``rows`` a
    failed build, too. ``has_read_on``: the sender has rows behind its end, or is reading them.
    """

    kind: Kind
    instance: str
    segment: str
    offset: str | None = None
    reason: str | None = None
    extra_s: int = 0
    rows: int = 0
    size_bytes: int = 0
    location: str = ""
    info: SegmentInfo | None = None
    has_read_on: bool = False


class CommitEngine(Protocol):
    """What a cluster's controller does when consuming segments end.

    Embedded: every message is one compare-and-set over what it was decided from. Pinot: its servers report to its own
    controller, so each of these is a StateConflict.
    """

    def answer(self, ctx: Context, received: Received) -> Answer:
        """Take a message in and say what the server is to do. Whatever is answered is on record before.

        FAILED also when the segment is unknown or its record does not allow it. Raises InvalidInput for a malformed
        name, instance or offset and NotFound for an unknown table; a commit end is answered FAILED then, too, but for a
        location that is not the segment's.
        """

    def upload(self, ctx: Context, segment: str, tar: Path, offset: str | None) -> Answer:
        """Keep the tar of a segment that is about to be committed; the answer says where. FAILED for anything wrong."""

    def register(
        self, ctx: Context, table: TableName, name: LLCName, info: SegmentInfo, location: str, *,
        lost: Sequence[tuple[str, str]] = (),
    ) -> None:  # fmt: skip
        """Register the file at ``location``, which ``info`` describes, as that of a segment that is COMMITTING;
        replicas in ERROR load it. ``lost``: ranges of the stream that it lacks, which its record then says.

        InvalidInput: not built from the offsets on record, or its file is elsewhere. NotFound: no record.
        StateConflict: it is not COMMITTING.
        """
