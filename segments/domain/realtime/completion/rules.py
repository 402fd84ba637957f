"""The standard completion protocol as a table: per message and state the first rule that fits (rules
`completion-table`, `repeats-are-harmless` and `winner-only`).

Where this differs from Pinot, on purpose and without the wire showing it to a server that behaves:
- Only the committer, at the winning offset, starts and ends a commit and extends its time. Everybody else is refused
  and changes nothing.
- The committer's time covers build and upload and never shrinks. It may repeat any of its messages.
- A committer that stopped, died or restarted is replaced by the next replica that reports (Pinot: after the whole time
  for a commit).
- Nobody waits for a replica whose server is not alive.
- A committer that comes back again and again without ending its commit makes way for another replica at the same
  offset.
- A replica that reaches the winning offset before the chosen one came back commits in its place: nobody waits out a
  HOLD for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from segments.domain.realtime.completion.conditions import (
    Seen,
    always,
    ask_again,
    choose_ahead,
    commit_here,
    end,
    extend,
    extends_past_cap,
    hold,
    is_ahead_or_level,
    is_behind,
    is_committer,
    is_excluded,
    is_late,
    is_level,
    is_notify_over,
    is_other,
    is_past_cap,
    is_repeated_end,
    is_shortcut,
    is_time_to_pick,
    is_tired,
    is_winner,
    is_winner_elsewhere,
    picks_reporter,
    renew,
    replace_winner,
    start_upload,
    stay,
)
from segments.domain.realtime.completion.machine import Machine, State
from segments.domain.realtime.completion.message import Action, Kind, Status

Condition = Callable[[Seen], bool]
#: None ends the round: the next message begins another.
Change = Callable[[Seen], Machine | None]


@dataclass(frozen=True)
class Rule:
    """When it fits, this is the answer and the machine afterwards. ``tells``: the offset that the answer carries."""

    when: Condition
    status: Status
    then: Change
    tells: str = ""
    action: Action = Action.NOTHING


REPORTED: Final = "reported"
WINNING: Final = "winning"

PICK = (
    Rule(is_shortcut, Status.COMMIT, commit_here, REPORTED),
    Rule(picks_reporter, Status.COMMIT, commit_here, REPORTED),
    Rule(is_time_to_pick, Status.CATCH_UP, choose_ahead, WINNING),
    Rule(always, Status.HOLD, hold, REPORTED),
)
COMMITTER_AT_WORK = (
    Rule(is_winner_elsewhere, Status.HOLD, end, REPORTED),
    Rule(is_late, Status.HOLD, end, REPORTED),
)
OTHERS_WAIT = (
    Rule(is_tired, Status.COMMIT, commit_here, REPORTED),
    Rule(is_ahead_or_level, Status.HOLD, stay, REPORTED),
    Rule(is_behind, Status.CATCH_UP, stay, WINNING),
)
KEEP_OR_DISCARD = (Rule(is_level, Status.KEEP, stay, REPORTED), Rule(always, Status.DISCARD, stay))
WAIT = (Rule(is_excluded, Status.FAILED, stay), Rule(always, Status.HOLD, stay, REPORTED))
START = (
    Rule(is_excluded, Status.FAILED, stay),
    Rule(is_past_cap, Status.HOLD, end, REPORTED),
    Rule(is_committer, Status.COMMIT_CONTINUE, start_upload),
    Rule(is_late, Status.HOLD, end, REPORTED),
    Rule(always, Status.HOLD, stay, REPORTED),
)
FAILED = (Rule(always, Status.FAILED, stay),)
EXTEND = (
    Rule(extends_past_cap, Status.FAILED, stay),
    Rule(is_committer, Status.PROCESSED, extend),
    Rule(always, Status.FAILED, stay),
)
STOPPED = (Rule(always, Status.PROCESSED, stay, action=Action.STOP_REPLICA),)
WINNER_STOPPED = (Rule(is_winner, Status.PROCESSED, replace_winner, action=Action.STOP_REPLICA), *STOPPED)
LOWER = (Rule(always, Status.PROCESSED, end, action=Action.LOWER_LIMIT),)
LOST = (Rule(is_winner, Status.PROCESSED, replace_winner), Rule(always, Status.PROCESSED, stay))

_S = State
Table = Mapping[Kind, Mapping[State, tuple[Rule, ...]]]

STANDARD_TABLE: Final[Table] = {
    Kind.CONSUMED: {
        _S.PARTIAL_CONSUMING: PICK,
        _S.HOLDING: PICK,
        _S.COMMITTER_DECIDED: (
            Rule(is_winner_elsewhere, Status.HOLD, end, REPORTED),
            Rule(is_past_cap, Status.HOLD, end, REPORTED),
            Rule(is_ahead_or_level, Status.COMMIT, commit_here, REPORTED),
            Rule(is_notify_over, Status.HOLD, end, REPORTED),
            Rule(is_behind, Status.CATCH_UP, stay, WINNING),
        ),
        _S.COMMITTER_NOTIFIED: (
            *COMMITTER_AT_WORK,
            Rule(is_winner, Status.COMMIT, ask_again, REPORTED),
            *OTHERS_WAIT,
        ),
        _S.COMMITTER_UPLOADING: (*COMMITTER_AT_WORK, Rule(is_winner, Status.COMMIT, renew, REPORTED), *OTHERS_WAIT),
        _S.COMMITTED: KEEP_OR_DISCARD,
    },
    Kind.COMMIT_START: {
        _S.PARTIAL_CONSUMING: WAIT,
        _S.HOLDING: WAIT,
        _S.COMMITTER_DECIDED: WAIT,
        _S.COMMITTER_NOTIFIED: START,
        _S.COMMITTER_UPLOADING: START,
        _S.COMMITTED: KEEP_OR_DISCARD,
    },
    Kind.COMMIT_END: {
        **dict.fromkeys(_S, FAILED),
        _S.COMMITTER_UPLOADING: (Rule(is_committer, Status.COMMIT_SUCCESS, end, action=Action.COMMIT), *FAILED),
        _S.COMMITTED: (Rule(is_repeated_end, Status.COMMIT_SUCCESS, stay), *FAILED),
    },
    Kind.EXTEND: {**dict.fromkeys(_S, FAILED), _S.COMMITTER_NOTIFIED: EXTEND, _S.COMMITTER_UPLOADING: EXTEND},
    Kind.STOPPED: {
        **dict.fromkeys(_S, STOPPED),
        _S.COMMITTER_DECIDED: WINNER_STOPPED,
        _S.COMMITTER_NOTIFIED: WINNER_STOPPED,
        _S.COMMITTER_UPLOADING: WINNER_STOPPED,
        _S.COMMITTED: (Rule(always, Status.PROCESSED, stay),),
    },
    Kind.BUILD_FAILED: {
        **dict.fromkeys(_S, LOWER),
        _S.COMMITTER_NOTIFIED: (Rule(is_other, Status.FAILED, stay), *LOWER),
        _S.COMMITTER_UPLOADING: (Rule(always, Status.DISCARD, stay),),
        _S.COMMITTED: (Rule(always, Status.DISCARD, stay),),
    },
    Kind.LOST: {
        **dict.fromkeys(_S, LOST[1:]),
        _S.COMMITTER_DECIDED: LOST,
        _S.COMMITTER_NOTIFIED: LOST,
        _S.COMMITTER_UPLOADING: LOST,
    },
}
