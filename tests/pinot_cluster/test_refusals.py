"""A Pinot controller's answers become our errors: by message, since it says 500 to most of what a caller did wrong."""

from __future__ import annotations

import pytest

from segments.domain.pinot import refusals as pinot_refusals
from segments.domain.pinot.refusal_rules import RULES
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

ENTRY = "0d3e9c0a-7f5b-4a6c-9f0e-0123456789ab"

#: (status, text as a controller says it, our error, a word of the remedy)
ANSWERS: list[tuple[int, str, type[PinotAdminError], str]] = [
    (
        400,
        "Index 25972 out of bounds for length 81 (through reference chain: "
        'org.apache.pinot.controller.helix.core.rebalance.RebalanceResult["instanceAssignment"])',
        StateConflict,
        "paranamer 2.8",
    ),
    (
        500,
        "Segment: s1 from 'segmentsFrom' exists in table: t_OFFLINE, entry id: x as 'segmentsFrom' (replacing a "
        "replaced segment)",
        StateConflict,
        "forceCleanup",
    ),
    (
        500,
        "It is not allowed to replace segments that are already replaced. (tableName = t, ...)",
        StateConflict,
        "forceCleanup",
    ),
    (
        500,
        "Segment: s1 from 'segmentsTo' exists in table: t_OFFLINE, entry id: x as 'segmentTo' (name conflict)",
        StateConflict,
        "names",
    ),
    (
        500,
        "Segment: s1 from 'segmentsTo' exists in table: t_OFFLINE, entry id: x as 'segmentsTo' (reverting a merged "
        "segment)",
        StateConflict,
        "newest",
    ),
    (
        500,
        "Segment: s1 from 'segmentsFrom' does not exist in table: t_OFFLINE (reverting a deleted segment)",
        PreconditionFailed,
        "old",
    ),
    (500, "Segment: s9 from 'segmentsFrom' does not exist in table: t_OFFLINE", NotFound, "excludeReplaced"),
    (
        500,
        "Not all segments from 'segmentsFrom' are available in the table. (tableName = 't')",
        NotFound,
        "excludeReplaced",
    ),
    (500, "Segment: s2 from 'segmentsTo' exists in table: t_OFFLINE", StateConflict, "new names"),
    (500, "Segment: s2 from 'segmentsTo' does not exist in table: t_OFFLINE", PreconditionFailed, "Upload"),
    (
        500,
        "Segment: s2 from EndReplaceSegmentsRequest does not exist in original segmentsTo list used",
        InvalidInput,
        "start",
    ),
    (500, "Time out while waiting segments become ONLINE. (tableNameWithType = t)", PreconditionFailed, "servers"),
    (500, f"Failed to find entry id: {ENTRY} from segment lineage for table: t", NotFound, "lineage"),
    (
        500,
        "Lineage state is not valid. Cannot update the lineage entry to be 'REVERTED'.",
        StateConflict,
        "forceRevert",
    ),
    (500, "Failed to delete segments from table: t due to: Blocking segments: [s1]", StateConflict, "replacement"),
    (409, "Segment already exists or another parallel push in progress", StateConflict, "upload"),
    (410, "Segment to refresh does not exist", Gone, "REFRESH_ONLY"),
    (403, "Storage quota exceeded for Table t", Forbidden, "quota"),
    (403, "Invalid segment start/end time: null/null (in millis) for table: t", Forbidden, "time column"),
    (500, "Caught internal server exception while uploading segment", OutcomeUnknown, "record"),
    (400, "Table t_REALTIME is disabled!", InvalidInput, "Enable"),
    (400, "consumeFrom param 'x' is not valid.", InvalidInput, "smallest"),
    (404, "Failed to find controller job id: 7", NotFound, "force commits"),
    (
        409,
        "TableConfig for t_OFFLINE already exists. If this is unexpected, try deleting the table",
        StateConflict,
        "Change",
    ),
    (409, "Cannot delete schema t, as it is associated with table t_OFFLINE", StateConflict, "table first"),
    (500, "Table t_OFFLINE not found!", NotFound, "tables"),
    (500, "Failed to get consuming segments info for table t_REALTIME. Table ideal state is null", NotFound, "tables"),
    (404, "Failed to find segment: s in table: t", NotFound, "segments"),
    (400, "Table type should either be offline or realtime", InvalidInput, "type"),
    (403, "Permission is denied for access 'UPDATE' to the endpoint", Forbidden, "rights"),
    (
        500,
        "No force commit message was sent for table: t_REALTIME segments: [t__0__0__20260101T0000Z]",
        Unavailable,
        "servers",
    ),
    (500, "No force commit message sent for table: t_REALTIME", Unavailable, "servers"),
    (
        400,
        "Cannot construct instance of `StartReplaceSegmentsRequest`, problem: 'segmentsTo' should not be null or empty",
        InvalidInput,
        "by name",
    ),
    (409, "Schema: t already exists", StateConflict, "override"),
    (
        400,
        'Invalid schema config json string: {"schemaName": "t"}. Reason: Field spec already exists for column: a',
        InvalidInput,
        "names",
    ),
    (400, "Invalid table config: t_OFFLINE. Got empty schema", InvalidInput, "POST /schemas"),
    (
        400,
        "Invalid table config for table t_OFFLINE: No schema defined for table: t_OFFLINE",
        InvalidInput,
        "POST /schemas",
    ),
    (
        400,
        "Failed to calculate instance partitions for table: t_OFFLINE, reason: Number of instances: 2 with tag: "
        "DefaultTenant_OFFLINE"
        " < table replication: 5 for table: t_OFFLINE",
        StateConflict,
        "fewer replicas",
    ),
    (404, "Segment s or table t not found in /deepstore/t/s", NotFound, "segments"),
    (500, "Task queue: TaskQueue_X for task type: X does not exist", NotFound, "task"),
    (500, "Exception while uploading segment: Input is not in the .gz format", InvalidInput, "file"),
    (418, "short and stout", InvalidInput, "Correct"),
    (412, "no rule", PreconditionFailed, ""),
]


@pytest.mark.parametrize(("status", "text", "kind", "word"), ANSWERS, ids=[f"{a[0]}-{a[1][:40]}" for a in ANSWERS])
def test_an_answer_becomes_the_error_that_says_what_to_do(
    status: int, text: str, kind: type[PinotAdminError], word: str
) -> None:
    error = pinot_refusals.refusal(status, text)
    assert type(error) is kind
    assert word in error.remedy
    assert error.data["pinotStatus"] == status
    assert error.data["pinotMessage"].rstrip(".!") in error.message


def test_a_server_error_that_nobody_knows_is_no_answer_to_a_change_and_none_to_a_read() -> None:
    assert type(pinot_refusals.refusal(500, "java.lang.NullPointerException")) is OutcomeUnknown
    assert type(pinot_refusals.refusal(500, "java.lang.NullPointerException", is_change=False)) is Unavailable


@pytest.mark.parametrize("step", ["startReplaceSegments", "endReplaceSegments", "revertReplaceSegments"])
def test_the_text_that_hides_every_cause_is_known_as_such(step: str) -> None:
    text = (
        f"Failed to update the segment lineage during {step}. (tableName = quota_OFFLINE, segmentsTo = [disk "
        "utilization])"
    )
    assert pinot_refusals.is_opaque(text)
    assert pinot_refusals.rule_of(500, text) is None
    assert type(pinot_refusals.refusal(500, text)) is OutcomeUnknown


def test_an_error_names_the_entry_that_the_message_names_and_long_messages_are_cut() -> None:
    error = pinot_refusals.refusal(
        500, f"Failed to find entry id: {ENTRY} from segment lineage for table: t" + " x" * 5000
    )
    assert error.data["entry"] == ENTRY
    assert len(error.message) < 700


def test_our_credentials_with_the_cluster_are_not_the_callers() -> None:
    assert pinot_refusals.refusal(401, "HTTP 401 Unauthorized").status == 403


def test_rules_have_names_of_their_own() -> None:
    names = [r.name for r in RULES]
    assert len(set(names)) == len(names)
