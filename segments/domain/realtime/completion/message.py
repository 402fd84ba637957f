"""What servers say in the completion protocol and what they are answered."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, Final

from segments.domain.realtime.streams.stream_offset import Offset

ROW_LIMIT: Final = "rowLimit"
END_OF_PARTITION: Final = "endOfPartitionGroup"
FORCE_COMMIT: Final = "forceCommitMessageReceived"


class Kind(StrEnum):
    """The messages, by their path on the wire. LOST is ours: a replica's live session is over."""

    CONSUMED = "segmentConsumed"
    STOPPED = "segmentStoppedConsuming"
    COMMIT_START = "segmentCommitStart"
    COMMIT_END = "segmentCommitEndWithMetadata"
    EXTEND = "extendBuildTime"
    BUILD_FAILED = "segmentBuildDeterministicFailure"
    LOST = "lost"


@dataclass(frozen=True)
class Message:
    """One message of ``instance``. ``offset`` is exclusive; LOST and BUILD_FAILED have none.

    ``session`` is the sender's live session ("" when it is not alive). ``is_same_content``: a commit end that
    describes, CRC and all, what is on record already. ``awaited``: how many replicas consume it on servers that live
    and have neither reported nor stopped; None where nobody knows: as many as the round was opened with.
    ``is_crowded``: as many segments of the partition are being committed as may be. ``has_read_on``: the sender has
    read rows behind its offset, or is reading them.
    """

    kind: Kind
    instance: str
    offset: Offset | None = None
    reason: str | None = None
    extra_s: int = 0
    session: str = ""
    is_same_content: bool = False
    awaited: int | None = None
    is_crowded: bool = False
    has_read_on: bool = False


class Status(StrEnum):
    """``status`` of an answer."""

    COMMIT = "COMMIT"
    HOLD = "HOLD"
    CATCH_UP = "CATCH_UP"
    KEEP = "KEEP"
    DISCARD = "DISCARD"
    NOT_LEADER = "NOT_LEADER"
    FAILED = "FAILED"
    COMMIT_CONTINUE = "COMMIT_CONTINUE"
    COMMIT_SUCCESS = "COMMIT_SUCCESS"
    PROCESSED = "PROCESSED"
    UPLOAD_SUCCESS = "UPLOAD_SUCCESS"


@dataclass(frozen=True)
class Answer:
    """``offset`` is text for the wire; ``build_time_s`` is -1 unless COMMIT; ``location`` and ``controller`` only where
    they belong.
    """

    status: Status
    offset: str | None = None
    build_time_s: int = -1
    location: str | None = None
    controller: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The answer on the wire; keys that are optional are left out when there is nothing to say."""
        body: dict[str, Any] = {
            "status": self.status.value,
            "streamPartitionMsgOffset": self.offset,
            "buildTimeSec": self.build_time_s,
            "isSplitCommitType": True,
        }
        if self.location is not None:
            body["segmentLocation"] = self.location
        if self.controller is not None:
            body["controllerVipUrl"] = self.controller
        return body


class Action(Enum):
    """What the caller has to do before it may give the answer; when that fails the answer is FAILED."""

    NOTHING = "nothing"
    #: Write the commit's start: its end offset, the next segment, the machine, as one transaction.
    START = "start"
    #: Write the commit, the machine's removal included, as one transaction.
    COMMIT = "commit"
    #: Take the replica's CONSUMING state out of the ideal state.
    STOP_REPLICA = "stop replica"
    #: Lower the segment's row limit and start its replicas again.
    LOWER_LIMIT = "lower limit"
