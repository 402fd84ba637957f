"""What a version of Apache Pinot can do, and the sentence that says why something is lacking.

Facts were read from the controllers of 0.11.0, 1.2.0 and 1.5.1 and tried on running ones. Between a version that is
known to lack something and one that is known to have it nothing is claimed: the cluster is asked, and says so itself
when it cannot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_NUMBER: Final = re.compile(r"\s*v?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?(.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, order=True)
class PinotVersion:
    """Major, minor, patch; a snapshot comes before its release."""

    major: int
    minor: int
    patch: int = 0
    is_release: bool = True

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}" + ("" if self.is_release else "-SNAPSHOT")


def parse_version(text: str | None) -> PinotVersion | None:
    """``0.11.0``, ``1.2.0-SNAPSHOT-<hash>``, ``1.5.1-abc``; None for anything else ("unknown", empty)."""
    found = _NUMBER.fullmatch(text or "")
    if found is None:
        return None
    major, minor, patch, rest = found.groups()
    return PinotVersion(int(major), int(minor), int(patch or 0), "snapshot" not in rest.lower())


class Has(StrEnum):
    """Whether a version has a capability. UNKNOWN: between the versions that were checked, or the version itself is
    not known.
    """

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Capability:
    """``absent_in``: the newest version known to lack it (None: none was found that does); ``present_in``: the oldest
    known to have it (None: no released version has). ``reason`` follows the version's name: "Pinot 0.11.0 <reason>";
    ``instead``: what we do then.
    """

    name: str
    title: str
    absent_in: PinotVersion | None
    present_in: PinotVersion | None
    reason: str
    instead: str = ""

    def in_version(self, version: PinotVersion | None) -> Has:
        """Has this version it?"""
        if self.present_in is None:
            return (
                Has.NO
                if version is not None and self.absent_in is not None and version <= self.absent_in
                else Has.UNKNOWN
            )
        if version is None:
            return Has.UNKNOWN if self.absent_in is not None else Has.YES
        if version >= self.present_in:
            return Has.YES
        if self.absent_in is None:
            return Has.YES
        return Has.NO if version <= self.absent_in else Has.UNKNOWN

    def lacking(self, version: PinotVersion | None) -> str:
        """Why it is lacking, as a sentence; empty when it is there or may be."""
        if self.in_version(version) is not Has.NO:
            return ""
        came = f" Pinot {self.present_in} has it." if self.present_in is not None else ""
        return f"Pinot {version} {self.reason}.{came}{' ' + self.instead if self.instead else ''}"


_0_11 = PinotVersion(0, 11)
_1_2 = PinotVersion(1, 2)
_1_5 = PinotVersion(1, 5, 1)
_0_10 = PinotVersion(0, 10)
#: The newest sources that were read.
_HEAD = PinotVersion(1, 6, 0, is_release=False)

#: Names of capabilities.
REPLACE: Final = "replaceSegments"
PAUSE: Final = "pauseConsumption"
FORCE_COMMIT: Final = "forceCommit"
FORCE_COMMIT_STATUS: Final = "forceCommitStatus"
FORCE_COMMIT_SELECT: Final = "forceCommitSelect"
FORCE_COMMIT_BATCH: Final = "forceCommitBatch"
PAUSE_COMMENT: Final = "pauseComment"
RESUME_LAST: Final = "resumeLastConsumed"
PAUSE_TOPICS: Final = "pauseTopics"
PAUSE_PARTITIONS: Final = "pausePartitions"
RESUME_OFFSETS: Final = "resumeFromOffsets"
WATERMARKS: Final = "consumerWatermarks"
PAUSELESS: Final = "pauseless"
REINGESTION: Final = "reingestion"
DELETE_SEQUENCE: Final = "deleteFromSequence"
DELETE_CHOOSE: Final = "deleteSegmentsByTime"
DELETE_GUARD: Final = "deleteGuard"
BATCH_UPLOAD: Final = "batchUpload"
RESET_ERRORS: Final = "resetErrorSegments"
RECORDS: Final = "segmentRecords"
SEGMENT_LIST: Final = "segmentList"
RUN_BY_POST: Final = "startOfPassesByPost"
END_CHECKS_FROM: Final = "endChecksOldSide"
KEEPS_SNAPSHOTS: Final = "snapshotsKept"
TASK_SUMMARY: Final = "taskSummary"
TASK_FINISH: Final = "taskFinish"
SEGMENT_METADATA: Final = "segmentMetadata"
CONSISTENT_KEY: Final = "consistentDataPush"
CUSTOM_MAP: Final = "customMap"
END_PART: Final = "endOfAPart"
RESTORE: Final = "restore"
REBALANCE_STATUS: Final = "rebalanceStatus"
REBALANCE_STOP: Final = "rebalanceStop"
REBALANCE_CHECKS: Final = "rebalanceChecks"
REBALANCE_GUARD: Final = "rebalanceGuard"
REBALANCE_COMMIT: Final = "rebalanceForceCommit"

CAPABILITIES: Final[tuple[Capability, ...]] = (
    Capability(
        REPLACE, "Start, end and revert of replacements", PinotVersion(0, 6), _0_10, "has no replacement protocol"
    ),
    Capability(PAUSE, "Pause and resume of a table", _0_10, _0_11, "cannot pause the consumption of a table"),
    Capability(
        FORCE_COMMIT,
        "Force commit of consuming segments",
        _0_10,
        _0_11,
        "cannot be asked to commit consuming segments",
    ),
    Capability(
        FORCE_COMMIT_STATUS,
        "Progress of a force commit",
        _0_11,
        _1_2,
        "keeps no job of a force commit",
        "We read the segments instead.",
    ),
    Capability(
        FORCE_COMMIT_SELECT,
        "Force commit of chosen partitions or segments",
        _0_11,
        _1_2,
        "commits all consuming segments of a table or none",
    ),
    Capability(FORCE_COMMIT_BATCH, "Force commit in batches", _1_2, _1_5, "has no batches of a force commit"),
    Capability(
        PAUSE_COMMENT,
        "A comment with a pause",
        _1_2,
        _1_5,
        "has no field for the reason of a pause",
        "We keep it ourselves.",
    ),
    Capability(
        RESUME_LAST,
        "consumeFrom=lastConsumed",
        _0_11,
        _1_2,
        "does not know the word lastConsumed",
        "We leave it out, which means the same there.",
    ),
    Capability(PAUSE_TOPICS, "Pause of single topics", _1_2, _1_5, "can pause a whole table only"),
    Capability(PAUSE_PARTITIONS, "Pause of single partitions", _HEAD, None, "has no pause of single partitions"),
    Capability(
        RESUME_OFFSETS,
        "Resume from offsets of your choice",
        _HEAD,
        None,
        "can resume from lastConsumed, smallest or largest only",
    ),
    Capability(
        WATERMARKS,
        "Watermarks of partitions",
        _1_2,
        _1_5,
        "does not report watermarks",
        "We compute them from its records.",
    ),
    Capability(PAUSELESS, "Pauseless consumption", _1_2, _1_5, "has no pauseless consumption"),
    Capability(
        REINGESTION, "Reingestion of failed segments", _1_2, _1_5, "has no reingestion of segments whose commit failed"
    ),
    Capability(
        DELETE_SEQUENCE,
        "Deleting the newest segments of partitions",
        _1_2,
        _1_5,
        "cannot delete segments from a sequence number on",
        "We choose the segments and delete them by name.",
    ),
    Capability(
        DELETE_CHOOSE,
        "Deleting the segments of a time window",
        _0_11,
        _1_2,
        "has no deletion by time window",
        "We choose the segments and delete them by name.",
    ),
    Capability(
        DELETE_GUARD,
        "Refusing to delete segments of a replacement",
        _1_5,
        _HEAD,
        "deletes segments of an unfinished or completed replacement without asking",
        "We refuse it here.",
    ),
    Capability(
        BATCH_UPLOAD,
        "Many segments in one metadata push",
        _1_2,
        _1_5,
        "takes one segment per upload",
        "We send them one by one.",
    ),
    Capability(
        RESET_ERRORS,
        "Reset of segments in ERROR only",
        _0_11,
        _1_2,
        "resets all segments of a table or one",
        "We reset them one by one.",
    ),
    Capability(
        RECORDS,
        "All segment records in one answer",
        _0_11,
        _1_2,
        "gives the records of segments one by one",
        "We read them so.",
    ),
    Capability(
        SEGMENT_LIST,
        "Lists without segments that are being deleted, and by time",
        _0_11,
        _1_2,
        "lists segments until the last trace of them is deleted, and takes no times",
        "We read the ideal state.",
    ),
    Capability(
        RUN_BY_POST,
        "Starting a periodic pass with POST",
        _1_2,
        _1_5,
        "starts periodic passes with GET only",
        "We send a GET.",
    ),
    Capability(
        END_CHECKS_FROM,
        "End refused when the old side is gone",
        _1_5,
        _HEAD,
        "ends a replacement whose old side was deleted",
        "We check before the end.",
    ),
    Capability(
        KEEPS_SNAPSHOTS,
        "More than one snapshot to go back to",
        _HEAD,
        None,
        "keeps one earlier snapshot of a REFRESH table: the third push with forceCleanup deletes the "
        "first one when it starts",
    ),
    Capability(
        CONSISTENT_KEY,
        "consistentDataPush in the table config",
        _0_11,
        _1_2,
        "forgets consistentDataPush in a table's config",
        "Set pinotadmin.consistentDataPush to true in its metadata.customConfigs.",
    ),
    Capability(
        CUSTOM_MAP,
        "customMap of a replacement",
        _0_11,
        _1_2,
        "refuses a start with a customMap",
        "We keep it and do not send it.",
    ),
    Capability(
        END_PART,
        "End with fewer segments than the start named",
        _0_11,
        _1_2,
        "ends a replacement with all the segments it named",
        "Upload all of them, or revert it.",
    ),
    Capability(
        TASK_SUMMARY, "Summary of minion tasks", _1_2, _1_5, "has no summary of its tasks", "We count them by type."
    ),
    Capability(
        TASK_FINISH,
        "When a minion task finished",
        _0_11,
        _1_2,
        "does not report when a task finished",
        "We take the latest of its sub-tasks.",
    ),
    Capability(
        SEGMENT_METADATA,
        "Columns of many segments in one answer",
        PinotVersion(1, 4),
        PinotVersion(1, 5),
        "reports the columns of one segment or of all",
        "We ask for them one by one.",
    ),
    Capability(
        REBALANCE_STATUS,
        "Progress of a rebalance",
        _0_11,
        _1_2,
        "keeps no job of a rebalance",
        "We compare the table with what a dry run would still move.",
    ),
    Capability(
        REBALANCE_STOP,
        "Stopping a rebalance",
        _0_11,
        _1_2,
        "cannot stop a rebalance",
        "It ends when all segments are where they should be, or when its controller restarts.",
    ),
    Capability(
        REBALANCE_CHECKS,
        "Pre-checks of a rebalance",
        _1_2,
        _1_5,
        "has no pre-checks of a rebalance",
    ),
    Capability(
        REBALANCE_GUARD,
        "Refusing a rebalance that may lose the only copy of rows",
        _1_2,
        _1_5,
        "moves the only copy of rows without asking",
        "We refuse it here.",
    ),
    Capability(
        REBALANCE_COMMIT,
        "Committing consuming segments before a rebalance moves them",
        _1_2,
        _1_5,
        "cannot commit consuming segments before a rebalance",
        "Force a commit of them first.",
    ),
    Capability(
        RESTORE,
        "Restoring deleted segments",
        _HEAD,
        None,
        "cannot bring deleted segments back",
        "We can where a copy was kept when they were deleted through us.",
    ),
)

_BY_NAME: Final = {c.name: c for c in CAPABILITIES}


def capability(name: str) -> Capability:
    """The capability of that name. KeyError for a name that is none: names are constants of this module."""
    return _BY_NAME[name]


def has(version: PinotVersion | None, name: str) -> bool:
    """May it be requested? True also where nothing is known: the cluster then says it itself."""
    return _BY_NAME[name].in_version(version) is not Has.NO


def has_surely(version: PinotVersion | None, name: str) -> bool:
    """Is it known to have it? For what must not be tried: another version would take the question for another one."""
    return version is not None and _BY_NAME[name].in_version(version) is Has.YES


def lacking(version: PinotVersion | None, name: str) -> str:
    """Why this version lacks it; empty when it has it, or may have it."""
    return _BY_NAME[name].lacking(version)


def all_lacking(version: PinotVersion | None) -> dict[str, str]:
    """{capability: reason} of everything that this version lacks."""
    return {c.name: reason for c in CAPABILITIES if (reason := c.lacking(version))}
