"""The pauseless completion protocol: where it differs from the standard one (rules `completion-table` and
`fixed-end`).

A commit starts before the segment is built, and its start is on record: COMMITTING, with the end offset. From then on
the end never changes and the round never ends without a commit. Replicas at the end keep what they have; the committer
may be replaced by any of them.

Where this differs from Pinot, on purpose and without the wire showing it to a server that behaves:
- Whoever reports at the end finds the commit where it stands, in whichever web process: Pinot answers FAILED once the
  process that took the start is gone.
- A committer that is late, stopped or died is replaced by the next replica that reports at the end.
- A replica past the end hears DISCARD at once: the end is fixed.
- While several segments of the partition are being committed, no further commit starts: replicas hold.
"""

from __future__ import annotations

from typing import Final

from segments.domain.realtime.completion.conditions import (
    always,
    end,
    forget_winner,
    has_no_committer,
    hold,
    is_behind,
    is_committer,
    is_crowded,
    is_crowded_committer,
    is_excluded,
    is_late,
    is_level,
    is_past_cap,
    is_tired,
    is_winner,
    renew,
    start_upload,
    stay,
    take_over,
)
from segments.domain.realtime.completion.machine import State
from segments.domain.realtime.completion.message import Action, Kind, Status
from segments.domain.realtime.completion.rules import (
    FAILED,
    LOST,
    PICK,
    REPORTED,
    STANDARD_TABLE,
    STOPPED,
    WINNING,
    Rule,
    Table,
)

_HOLD_BACK: Final = Rule(is_crowded, Status.HOLD, hold, REPORTED)
_STARTED: Final = (
    Rule(is_behind, Status.CATCH_UP, stay, WINNING),
    Rule(is_committer, Status.COMMIT, renew, REPORTED),
    Rule(has_no_committer, Status.COMMIT, take_over, REPORTED),
    Rule(is_tired, Status.COMMIT, take_over, REPORTED),
    Rule(is_level, Status.KEEP, stay, REPORTED),
    Rule(always, Status.DISCARD, stay),
)
_START: Final = (
    Rule(is_excluded, Status.FAILED, stay),
    Rule(is_past_cap, Status.HOLD, end, REPORTED),
    Rule(is_crowded_committer, Status.HOLD, stay, REPORTED),
    Rule(is_committer, Status.COMMIT_CONTINUE, start_upload, action=Action.START),
    Rule(is_late, Status.HOLD, end, REPORTED),
    Rule(always, Status.HOLD, stay, REPORTED),
)
_START_AGAIN: Final = (
    Rule(is_excluded, Status.FAILED, stay),
    Rule(is_committer, Status.COMMIT_CONTINUE, start_upload, action=Action.START),
    Rule(always, Status.HOLD, stay, REPORTED),
)


def _changed(kind: Kind, **rules: tuple[Rule, ...]) -> dict[State, tuple[Rule, ...]]:
    return {**STANDARD_TABLE[kind], **{State[name]: found for name, found in rules.items()}}


PAUSELESS_TABLE: Final[Table] = {
    **STANDARD_TABLE,
    Kind.CONSUMED: _changed(
        Kind.CONSUMED,
        PARTIAL_CONSUMING=(_HOLD_BACK, *PICK),
        HOLDING=(_HOLD_BACK, *PICK),
        COMMITTER_UPLOADING=_STARTED,
    ),
    Kind.COMMIT_START: _changed(Kind.COMMIT_START, COMMITTER_NOTIFIED=_START, COMMITTER_UPLOADING=_START_AGAIN),
    Kind.EXTEND: _changed(Kind.EXTEND, COMMITTER_NOTIFIED=FAILED),
    Kind.STOPPED: _changed(
        Kind.STOPPED,
        COMMITTER_UPLOADING=(
            Rule(is_winner, Status.PROCESSED, forget_winner, action=Action.STOP_REPLICA),
            *STOPPED,
        ),
    ),
    Kind.LOST: _changed(Kind.LOST, COMMITTER_UPLOADING=(Rule(is_winner, Status.PROCESSED, forget_winner), *LOST[1:])),
}
