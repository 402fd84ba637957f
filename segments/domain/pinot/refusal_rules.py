"""Texts with which Pinot controllers refuse, each with our error and remedy (rule `refusals-are-4xx`).

The texts are those of the controllers of Pinot 0.11.0, 1.2.0 and 1.5.1; where versions word the same thing differently
both are here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from segments.errors import (
    Forbidden,
    Gone,
    InvalidInput,
    NotFound,
    OutcomeUnknown,
    PinotAdminError,
    PreconditionFailed,
    StateConflict,
    Unavailable,
)

#: The name of the refusal of a force commit, and of a pause though that is set then.
NO_SERVER_NOTIFIED: Final = "no-server-notified"


@dataclass(frozen=True)
class Rule:
    """``pattern`` is searched in Pinot's text; ``statuses`` empty: whatever the status."""

    name: str
    pattern: re.Pattern[str]
    kind: type[PinotAdminError]
    remedy: str
    statuses: frozenset[int] = frozenset()

    def fits(self, status: int, text: str) -> bool:
        """Is this the rule for the answer?"""
        return (not self.statuses or status in self.statuses) and self.pattern.search(text) is not None


def _rule(name: str, pattern: str, kind: type[PinotAdminError], remedy: str, *statuses: int) -> Rule:
    return Rule(name, re.compile(pattern, re.IGNORECASE | re.DOTALL), kind, remedy, frozenset(statuses))


_NEW_NAMES: Final = "Give new segments new names."
_UPLOAD_FIRST: Final = "Upload it, then end again."
_OLD_SIDE: Final = "Push the old data again; this entry can no longer be rolled back."
_LIST_TABLES: Final = "List the tables with GET /tables."

#: In this order; the first that fits decides.
RULES: Final[tuple[Rule, ...]] = (
    # -- replacements
    _rule(
        "replaced-already",
        r"\(replacing a replaced segment\)|replace segments " r"that are already replaced",
        StateConflict,
        "Wait for the end of that replacement, revert it, or give forceCleanup=true to take over.",
    ),
    _rule(
        "name-taken",
        r"\(name conflict\)|same segment name for segments in 'segmentsTo'",
        StateConflict,
        "Another replacement names it: wait for its end, revert it, or give new segments new names.",
    ),
    _rule(
        "merged",
        r"\(reverting a merged segment\)|appear in 'segmentsFrom' of another lineage entry",
        StateConflict,
        "Revert the newest entry first.",
    ),
    _rule(
        "old-side-gone",
        r"\(reverting a deleted segment\)|Not all segments from " r"'segmentFrom' are in ONLINE",
        PreconditionFailed,
        _OLD_SIDE,
    ),
    _rule(
        "from-unknown",
        r"from 'segmentsFrom' does not exist in table|Not all segments " r"from 'segmentsFrom' are available",
        NotFound,
        "It is unknown, already replaced, or part of an unfinished replacement; list with "
        "excludeReplacedSegments=true.",
    ),
    _rule(
        "from-vanished",
        r"segmentsFrom.*(?:no longer exist|missing from).*(?:ideal state|table)",
        PreconditionFailed,
        "Revert the entry with forceRevert=true.",
    ),
    _rule(
        "to-exists",
        r"from 'segmentsTo' exists in table|'segmentsTo' should " r"not be available in the table",
        StateConflict,
        _NEW_NAMES,
    ),
    _rule(
        "to-not-uploaded",
        r"from 'segmentsTo' does not exist in table|Not all segments " r"from 'segmentsTo' are available",
        PreconditionFailed,
        _UPLOAD_FIRST,
    ),
    _rule(
        "to-foreign",
        r"from EndReplaceSegmentsRequest does not exist in original segmentsTo",
        InvalidInput,
        "Name only segments that the start named.",
    ),
    _rule(
        "not-online",
        r"Time out while waiting segments become ONLINE",
        PreconditionFailed,
        "Check the servers, then end again.",
    ),
    _rule(
        "end-reverted", r"state is not 'IN_PROGRESS'\. Cannot update to 'COMPLETED'", StateConflict, "Start a new one."
    ),
    _rule(
        "revert-state",
        r"Cannot update the lineage entry to be 'REVERTED'",
        StateConflict,
        "An unfinished entry needs forceRevert=true; a reverted one needs nothing.",
    ),
    _rule(
        "entry-changed",
        r"entry has been modified",
        StateConflict,
        "Somebody else changed the entry at the same time: read it again.",
    ),
    _rule(
        "entry-unknown",
        r"Failed to find entry id|Invalid segment lineage entry id|Failed to find segment lineage"
        r"|Segment lineage does not exist",
        NotFound,
        "List the entries with GET /segments/{table}/lineage.",
    ),
    _rule(
        "entry-missing", r"'segmentLineageEntryId' should not be null", InvalidInput, "Add segmentLineageEntryId=..."
    ),
    _rule(
        "to-empty",
        r"'segmentsTo' should not be null or empty",
        InvalidInput,
        "This version of Pinot only replaces segments by others: delete the old ones by name.",
    ),
    _rule(
        "lists-empty",
        r"'segmentsFrom' and 'segmentsTo' (?:can ?not|cannot) both be empty",
        InvalidInput,
        "Name what is replaced, what replaces it, or both.",
    ),
    # -- deletion
    _rule(
        "delete-locked",
        r"Blocking segments:|locked by .*lineage|blocked .*lineage",
        StateConflict,
        "End or revert the replacement first; its clean-up then removes them.",
    ),
    _rule(
        "segments-missing",
        r"Segments must be provided|Segment list must not be empty",
        InvalidInput,
        "Name at least one segment.",
    ),
    _rule(
        "segments-mixed",
        r"All segments must be of the same type",
        InvalidInput,
        "Delete OFFLINE and REALTIME segments in two calls.",
    ),
    # -- uploads
    _rule(
        "upload-exists",
        r"Segment already exists or another parallel push",
        StateConflict,
        "Wait for the other upload, or allow a refresh.",
    ),
    _rule(
        "upload-in-progress",
        r"upload(?:ing)? .*in progress|Another segment upload is in progress",
        StateConflict,
        "Wait for the other upload; Pinot gives it up after ten minutes.",
    ),
    _rule("refresh-only", r"Segment to refresh does not exist", Gone, "Upload it without REFRESH_ONLY.", 404, 410, 500),
    _rule("crc", r"CRC check fails|Expected CRC", PreconditionFailed, "Compare the segment's CRC on record."),
    _rule("quota", r"quota|storage quota", Forbidden, "Raise the table's quota, or delete segments first."),
    _rule("disk", r"(?:disk|resource) utilization", Forbidden, "Free disk space on the servers."),
    _rule(
        "time-interval",
        r"time interval|Invalid segment start/end time",
        Forbidden,
        "Check the time column of the segment and its format in the schema.",
        400,
        403,
        500,
    ),
    _rule(
        "upload-invalid",
        r"Segment validation fails|Could not fetch segment size|Invalid multi-part form"
        r"|Failed to (?:unzip|extract|untar) .*segment|uploading segment: .*(?:CompressorException|\.gz format)"
        r"|needed for URI upload|Source download URI is required",
        InvalidInput,
        "Check the segment's file and the upload's headers.",
    ),
    _rule(
        "upload-crash",
        r"internal server exception while uploading segment",
        OutcomeUnknown,
        "Read the segment's record; the controller's log has the cause.",
    ),
    # -- realtime
    _rule("table-disabled", r"Table \S+ is disabled", InvalidInput, "Enable the table first."),
    _rule("consume-from", r"consumeFrom param .* is not valid", InvalidInput, "Use lastConsumed, smallest or largest."),
    _rule("batch-config", r"Invalid batch config", InvalidInput, "Batch values are whole numbers from 1 on."),
    _rule(
        "both-lists",
        r"Cannot specify both partitions and segments",
        InvalidInput,
        "Give either partitions or segments to commit.",
    ),
    _rule(
        "no-consuming",
        r"Cannot find segments to commit for partitions",
        InvalidInput,
        "GET /tables/{table}/pauseStatus lists what consumes.",
    ),
    _rule("topics", r"topicIndices should be", InvalidInput, "For example topicIndices=0,2."),
    _rule(
        "consistency",
        r"inconsistent .*(?:consum|upsert)|consistency mode",
        StateConflict,
        "The cluster setting pinot.server.consuming.segment.consistency.mode forbids it for this table.",
    ),
    _rule("job-unknown", r"Failed to find controller job id", NotFound, "Pinot keeps the last force commits only."),
    _rule(
        NO_SERVER_NOTIFIED,
        r"No force commit message (?:was )?sent",
        Unavailable,
        "No server that consumes the table could be reached: try again when its servers are up.",
    ),
    _rule("not-paused", r"should be paused before deleting", StateConflict, "Pause the table first."),
    _rule(
        "not-pauseless",
        r"pauseless is not enabled|only .*pauseless",
        StateConflict,
        "Only a table with pauseless consumption can.",
    ),
    _rule(
        "offline-table",
        r"for OFFLINE table|only (?:supported )?for " r"REALTIME|should be a realtime table",
        InvalidInput,
        "Ask for the REALTIME table.",
    ),
    # -- tables and schemas
    _rule(
        "table-exists",
        r"(?:table|TableConfig).*already exists|TableAlreadyExists",
        StateConflict,
        "Change it instead, or delete it first.",
        409,
        500,
    ),
    _rule("schema-exists", r"Schema(?::? \S+)? already exists", StateConflict, "Send override=true to change it."),
    _rule("schema-used", r"Cannot delete schema .* associated with", StateConflict, "Delete the table first."),
    _rule(
        "schema-incompatible",
        r"Backward incompatible " r"schema|BackwardIncompatible|incompatible .*existing schema",
        InvalidInput,
        "Columns may be added only.",
    ),
    _rule(
        "no-schema",
        r"Failed to find schema for table|schema .*(?:not found|does not "
        r"exist|null).*table|Schema should not be null"
        r"|No schema found|No schema defined|Got empty schema",
        InvalidInput,
        "Create the schema with POST /schemas first.",
        400,
        500,
    ),
    _rule(
        "config-invalid",
        r"Invalid table config|Failed to (?:update|add) "
        r".*(?:config|schema).*(?:due to|Reason)|Invalid schema"
        r"|'schemaName' |Invalid TableConfig|Unsupported|unrecognized",
        InvalidInput,
        "Correct what the message names.",
        400,
        500,
    ),
    _rule(
        "no-servers",
        r"(?:No|not enough|fewer) .*(?:server|instance)|Number of instances: \d+ .* < "
        r"|Tenant.*(?:not found|does not exist)|Failed to find instances",
        StateConflict,
        "Start servers with the table's tag, or ask for fewer replicas.",
    ),
    _rule(
        "dangling",
        r"External view .*(?:still )?exist|EV.*exist|dangling " r"task|Table .* is being deleted",
        StateConflict,
        "What is left of the dropped table goes within a minute or two: try again then.",
    ),
    _rule(
        "task-type-off",
        r"does not have task type: \S+ enabled",
        StateConflict,
        "Give the table a config of that task type first.",
    ),
    _rule(
        "task-type-unknown",
        r"Task type: \S+ is not registered",
        NotFound,
        "The controller has no generator of that name: check it, or install the plug-in that brings it.",
    ),
    _rule(
        "queue-runs",
        r"Queue \S+ is still|still running.*queue|queue " r".*(?:not|must be|should be) stopped",
        StateConflict,
        "Stop the queue of its type first.",
    ),
    _rule(
        "active-tasks",
        r"active running tasks|task schedules have been cleared",
        StateConflict,
        "Wait until its tasks are over.",
    ),
    # -- what does not exist
    _rule(
        "segment-no-file",
        r"Segment \S+ or table \S+ not found",
        NotFound,
        "List the segments with GET /segments/{table}.",
    ),
    _rule(
        "table-unknown",
        r"Table \S+ (?:not found|does not exist)|Failed to find table|Table "
        r"not found|Table '?[^']*'? not found"
        r"|table config (?:not found|for table)|Ideal State does not exist|Table ideal state is null|Failed to "
        r"fetch table config"
        r"|Failed to find table config",
        NotFound,
        _LIST_TABLES,
    ),
    _rule(
        "segment-unknown",
        r"Failed to find segment|Segment \S+ .*not found|not found in table|Segment not found"
        r"|Could not find (?:IdealState|ExternalView)",
        NotFound,
        "List the segments with GET /segments/{table}.",
    ),
    _rule(
        "task-unknown",
        r"Periodic task .* not found|Task (?:type|queue).*not (?:found|exist)|No task",
        NotFound,
        "GET /periodictask/names and /tasks/tasktypes list them.",
    ),
    _rule(
        "schema-unknown",
        r"(?:Schema|schema) \S* ?(?:not found|does not exist)|Failed to find schema",
        NotFound,
        "List the schemas with GET /schemas.",
    ),
    # -- parameters
    _rule(
        "type",
        r"Table type should|Table type must not|Table type .*not provided|does not match table type|Illegal table "
        r"type",
        InvalidInput,
        "Give type=OFFLINE or type=REALTIME, as in the table's name.",
    ),
    _rule(
        "times", r"start(?: and end)? ?timestamp|startTimestamp", InvalidInput, "Give epoch milliseconds, start first."
    ),
    _rule(
        "json",
        r"Unrecognized field|Cannot deserialize|Unexpected " r"character|Missing or invalid request body|JsonParse",
        InvalidInput,
        "Check the body's fields.",
    ),
    _rule(
        "rebalance-unreadable",
        r"reference chain: \S*RebalanceResult",
        StateConflict,
        "This controller cannot write what it found: paranamer 2.3 among its jars does not read classes of its Java. "
        "Put paranamer 2.8 in its place, as in Pinot's own distribution.",
    ),
    # -- rights
    _rule(
        "denied",
        r"Permission (?:is )?denied|not authorized|No data access|Access denied|Unauthorized",
        Forbidden,
        "The user that this installation uses with that cluster needs more rights there.",
    ),
)
