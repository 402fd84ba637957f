"""What made a snapshot: which replacements switched since the one before it, or which segments came and went without
any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from segments.domain.realtime.llc_name import is_llc_name
from segments.domain.replacement.history.contents import Changes
from segments.domain.replacement.lineage import REVERTED_FROM, ROLLBACK, UNDOES, Entry, Lineage, State
from segments.names import REALTIME, split_table_name

#: Note of an entry that went back to a snapshot: its number.
RETURNS_TO: Final = "returns.to"


class Kind(StrEnum):
    """What made a snapshot."""

    FIRST = "first"
    SWITCH = "switch"
    ROLLBACK = "rollback"
    UNDO = "undo"
    RETURN = "return"
    UPLOAD = "upload"
    DELETE = "delete"
    CHANGE = "change"
    COMMIT = "commit"


@dataclass(frozen=True)
class Origin:
    """``entries``: ids of the replacements that switched, latest first. ``at_ms``: when the last of them did (epoch
    ms); None: no replacement did, so it is not on record. ``switches``: how many switches lie between this snapshot and
    the recorded one before it; what queries saw between them is not known.
    """

    kind: Kind
    entries: tuple[str, ...] = ()
    at_ms: int | None = None
    switches: int = 1


def states_of(lineage: Lineage) -> dict[str, str]:
    """{entry: state}, from which a later reading knows what has switched since."""
    return {e.id: e.state.value for e in lineage.entries.values()}


def origin_of(states: Mapping[str, str] | None, lineage: Lineage, changes: Changes) -> Origin:
    """What made the snapshot that differs by ``changes`` from the one before. ``states``: those of the entries when
    that one was recorded; None: there was none before.
    """
    if states is None:
        return Origin(Kind.FIRST)
    switched = [e for e in reversed(lineage.in_order()) if _has_switched(e, states)]
    if not switched:
        return Origin(_without_switch(changes, is_stream=split_table_name(lineage.table)[1] == REALTIME))
    switches = len({(_switch_of(e), e.timestamp_ms) for e in switched})
    return Origin(_kind(switched), tuple(e.id for e in switched), switched[0].timestamp_ms, switches)


def _has_switched(entry: Entry, states: Mapping[str, str]) -> bool:
    """Did queries go to its other side? One that was given up before its end never switched, unless it began and ended
    since.
    """
    before = states.get(entry.id)
    if entry.state is State.COMPLETED:
        return before != State.COMPLETED
    if entry.state is not State.REVERTED or before == State.REVERTED:
        return False
    return before == State.COMPLETED or entry.notes.get(REVERTED_FROM) == State.COMPLETED


def _switch_of(entry: Entry) -> str:
    """Entries of one rollback switched together."""
    return entry.notes.get(ROLLBACK, entry.id) if entry.state is State.REVERTED else entry.id


def _kind(switched: Sequence[Entry]) -> Kind:
    newest = switched[0]
    if newest.state is State.REVERTED:
        return Kind.ROLLBACK
    if RETURNS_TO in newest.notes:
        return Kind.RETURN
    return Kind.UNDO if UNDOES in newest.notes else Kind.SWITCH


def _without_switch(changes: Changes, *, is_stream: bool) -> Kind:
    came = any(before is None for before, _ in changes.values())
    went = any(after is None for _, after in changes.values())
    if came and not went:
        return Kind.COMMIT if is_stream and all(map(is_llc_name, changes)) else Kind.UPLOAD
    return Kind.DELETE if went and not came and all(a is None for _, a in changes.values()) else Kind.CHANGE
