"""Every key of a file ingestion task that is known: which are read, with their kind, and which have no effect here, and
why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

INT_MAX: Final = 2**31 - 1


@dataclass(frozen=True)
class Problem:
    """Something about one key: ``what`` is a sentence without its full stop. ``is_wrong``: the task cannot be carried
    out like this; else the key is unknown or has no effect. ``position``: the character of its value that is wrong,
    from 1, where that is known.
    """

    key: str
    what: str
    remedy: str
    is_wrong: bool = False
    position: int | None = None


def wrong(key: str, what: str, remedy: str) -> Problem:
    """One with which the task cannot be carried out."""
    return Problem(key, what, remedy, is_wrong=True)


#: true or false; all are false unless they are set, but for ``searchRecursively``.
FLAGS: Final = (
    "consistentPushSwapEnabled",
    "consistentPushEnabled",
    "clearConsistentPushState",
    "enableAtomicUpload",
    "allowEmptySwap",
    "forceSwap",
    "skipFileIfFailToInitReader",
    "searchRecursively",
    "strictSnapshot",
)
#: Whole numbers with the least and the largest one. Pinot writes -1 for "no limit".
NUMBERS: Final = {
    "consistentPushMaxRetries": (0, INT_MAX),
    "taskMaxNumFiles": (-1, INT_MAX),
    "tableMaxNumTasks": (-1, INT_MAX),
    "runMaxNumFiles": (-1, INT_MAX),
    "runMaxNumTasks": (-1, INT_MAX),
}
#: Sizes such as 1G or 500M.
SIZES: Final = ("taskMaxDataSize", "runMaxDataSize")
_TEXTS: Final = (
    "inputDirURI",
    "inputFormat",
    "includeFileNamePattern",
    "excludeFileNamePattern",
    "schedule",
    "scheduleTimeZone",
    "ingestionMode",
    "modifiedFilePolicy",
    *SIZES,
    "errorRate",
    "recordReader.className",
    "input.fs.className",
    "replaceFrom",
    "replaceUntil",
    "replaceFiles",
    "replacePartitions",
    "replaceCrossing",
)
#: Read-only: Pinot shows them, nobody sets them.
READ_ONLY: Final = ("retryCount", "state")
KNOWN: Final = (*FLAGS, *NUMBERS, *_TEXTS)
#: Keys that begin so are read by what they configure.
PREFIXES: Final = ("input.fs.prop.", "recordReader.prop.")

_ONE_FILE: Final = "a segment holds rows of one file, so that a file can be replaced alone"
_DIRECT: Final = "files go to the deep store directly"
_OUTPUT: Final = "segments are staged in the deep store"
_BY_FORMAT: Final = "the reader is chosen by inputFormat"
WITHOUT_EFFECT: Final = {
    "desiredSegmentSize": _ONE_FILE,
    "outputDirURI": _OUTPUT,
    "overwriteOutput": _OUTPUT,
    "output.fs.className": _OUTPUT,
    "push.mode": _DIRECT,
    "push.attempts": _DIRECT,
    "push.parallelism": _DIRECT,
    "push.retry.interval.millis": _DIRECT,
    "push.controllerUri": _DIRECT,
    "push.segmentUriPrefix": _DIRECT,
    "push.segmentUriSuffix": _DIRECT,
    "batchSegmentUpload": _DIRECT,
    "recordReader.configClassName": _BY_FORMAT,
    "recordReader.prop.quoteMode": "it says how CSV is written",
    "recordReader.prop.recordSeparator": "it says how CSV is written",
    "checkpointTTLSec": "progress is kept with the session",
    "maxNumThreadsPerTask": "Spark uses all cores that it is given",
    "segmentNameGenerator.type": "segments are named after table, session and file, so that a retry repeats nothing",
    "append.uuid.to.segment.name": "segments are named after table, session and file, so that a retry repeats nothing",
    **dict.fromkeys(READ_ONLY, "it is read-only: see the session"),
}
