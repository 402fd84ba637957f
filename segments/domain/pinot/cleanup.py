"""What a Pinot controller deletes on its own, and when: at a start with forceCleanup, at a revert, in its own retention
pass.

We cannot prevent it, only see it coming: refuse what would destroy what somebody pinned, and say until when a
rollback is possible. That is so in all versions up to 1.5.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Final

from segments.domain.pinot.capabilities import KEEPS_SNAPSHOTS, PinotVersion, capability
from segments.domain.replacement.decisions import Replacement
from segments.domain.replacement.lineage import Entry, Lineage, State
from segments.domain.tables.table_config import TableConfig
from segments.errors import StateConflict

_DAY_MS: Final = 86_400_000
#: From here on the table's retention settings for replaced segments are honoured.
_HONOURED: Final = PinotVersion(1, 6, 0, is_release=False)


def deleted_by_start(lineage: Lineage, wanted: Replacement, *, is_refresh: bool) -> tuple[str, ...]:
    """Segments that Pinot deletes when this start arrives: leftovers of failed pushes, and the snapshot before the
    present one.
    """
    if not wanted.force_cleanup:
        return ()
    gone: list[str] = []
    new_from, new_to = set(wanted.segments_from), set(wanted.segments_to)
    for entry in lineage.in_order():
        match entry.state:
            case State.REVERTED:
                gone += entry.segments_to
            case State.IN_PROGRESS if new_from.intersection(entry.segments_from) or new_to.intersection(
                entry.segments_to
            ):
                gone += [s for s in entry.segments_to if s not in new_to]
            case State.COMPLETED if is_refresh and Counter(wanted.segments_from) == Counter(entry.segments_to):
                gone += entry.segments_from
    return tuple(dict.fromkeys(gone))


def check_start(lineage: Lineage, wanted: Replacement, *, is_refresh: bool, ideal: Collection[str]) -> tuple[str, ...]:
    """As ``deleted_by_start``, of the segments that exist. StateConflict when it would delete what a pin protects.

    Also when a new segment has the name of a reverted push's: its old file is deleted while the new one comes in
    (user-asks 5).
    """
    gone = deleted_by_start(lineage, wanted, is_refresh=is_refresh)
    pinned = sorted(lineage.pinned().intersection(gone))
    if pinned:
        raise StateConflict(
            f"With forceCleanup Pinot would delete segment '{pinned[0]}' at once, which is pinned.",
            remedy="Unpin its lineage entry first, or start without forceCleanup.", segments=pinned,
        )  # fmt: skip
    reverted = {s for e in lineage.entries.values() if e.state is State.REVERTED for s in e.segments_to}
    reused = sorted(reverted.intersection(wanted.segments_to))
    if reused:
        raise StateConflict(
            f"Segment '{reused[0]}' was taken back, and Pinot still hides and deletes what has its name.",
            remedy="Give new segments new names, or wait until Pinot's retention has dropped the reverted entry.",
            segments=reused,
        )
    return tuple(s for s in gone if s in ideal)


def check_revert(entry: Entry) -> None:
    """StateConflict when the entry is pinned: Pinot deletes its new side at once, and nobody could bring it back."""
    if entry.is_pinned:
        raise StateConflict(
            f"Lineage entry '{entry.id}' is pinned, and Pinot deletes the new side of what it reverts.",
            remedy="Unpin the entry first.", entry=entry.id,
        )  # fmt: skip


def rollback_until_ms(entry: Entry, config: TableConfig, version: PinotVersion | None) -> int | None:
    """Until when (epoch ms) Pinot's retention leaves the old side; None: the entry is not COMPLETED, or its old side is
    empty, so that Pinot's next retention pass, nobody knows when, drops it.

    Up to 1.5.1 it is a day for REFRESH tables and the next retention pass for all others, whatever the table's config
    says.
    """
    if entry.state is not State.COMPLETED or not entry.segments_from:
        return None
    if version is None or version >= _HONOURED:
        return entry.timestamp_ms + config.replaced_retention_ms
    return entry.timestamp_ms + (_DAY_MS if config.is_refresh else 0)


def warnings(entry: Entry, config: TableConfig, version: PinotVersion | None) -> list[str]:
    """What Pinot will do to the entry's segments though we would not, in sentences."""
    notes: list[str] = []
    if entry.state is State.COMPLETED and entry.segments_from:
        kept_ms = (rollback_until_ms(entry, config, version) or 0) - entry.timestamp_ms
        when = f"{kept_ms / 3_600_000:g} h after the switch" if kept_ms > 0 else "when its next retention pass runs"
        pin = " A pin holds us back, not Pinot." if entry.is_pinned else ""
        notes.append(f"Pinot's own retention deletes the old side {when}; this cannot be prevented from here.{pin}")
        if config.is_refresh:
            notes.append(
                "The next push with forceCleanup that replaces exactly this entry's new side deletes the old "
                "side when it starts."
            )
            if capability(KEEPS_SNAPSHOTS).lacking(version):
                notes.append(capability(KEEPS_SNAPSHOTS).lacking(version))
    if entry.state is not State.REVERTED and entry.segments_to:
        notes.append(
            "A revert deletes the new side at once: Pinot keeps its files in Deleted_Segments for its own time, "
            "7 days by default."
        )
    return notes
