"""What is left of the snapshots on a page of the history: seen now, on servers, kept as files, or gone.

From the newest snapshot down only what changed between two is compared, so that a page costs what its snapshots differ
by; what is beyond a bound is not judged here, the preview of a return reads it all.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from django.db.models import QuerySet

from segments.domain.formats.plural import counted
from segments.domain.realtime.llc_name import is_llc_name
from segments.domain.replacement.history.contents import unpack_changes
from segments.errors import PinotAdminError
from segments.models import Snapshot
from segments.names import REALTIME, TableName
from segments.services.core.context import Context
from segments.services.replacement.history.snapshots import contents_of
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.segments import archive

log = logging.getLogger(__name__)

#: Changes of segments that one page compares.
_MOST_CHANGES: Final = 100_000


@dataclass(frozen=True)
class Standing:
    """``present``: queries see it; ``grown``: they see all of it and what the stream brought since; ``served``: all its
    segments are on servers; ``kept``: some come back from kept files; ``expired``: some are nowhere any more, ``why``
    says which; ``unknown``: not judged here.
    """

    state: Literal["present", "grown", "served", "kept", "expired", "unknown"]
    why: str = ""


def standings(ctx: Context, table: TableName, numbers: Sequence[int]) -> dict[int, Standing]:
    """{number: what is left of that snapshot}; ``numbers`` are those of a page, newest first."""
    rows = Snapshot.objects.filter(cluster__name=ctx.cluster, table_name=table.typed)
    newest = rows.first()
    if newest is None or not numbers:
        return {}
    try:
        judge = _Judge(ctx, observe(ctx, table), contents_of(newest))
        return judge.down_to(newest, rows.filter(number__gt=numbers[-1]), set(numbers))
    except PinotAdminError as error:
        log.info("What is left of snapshots of %s cannot be read: %s", table, error)
        return dict.fromkeys(numbers, Standing("unknown", str(error)))


class _Judge:
    """Goes from the newest snapshot to older ones; ``away``: segments of the one it is at that are not on servers."""

    def __init__(self, ctx: Context, seen: Observed, contents: Mapping[str, int]) -> None:
        self._ctx, self._seen, self._now = ctx, seen, contents
        self._visible = frozenset(seen.lineage.visible(seen.ideal.maps))
        self._is_stream = seen.table.type == REALTIME
        self._unseen: set[str] = {s for s in contents if s not in self._visible}
        self._more: set[str] = {s for s in self._visible if s not in contents and not self._is_streamed(s)}
        self._away: set[str] = {s for s in contents if s not in seen.ideal.maps}
        self._other: set[str] = set()
        self._kept: Collection[str] | None = None

    def down_to(self, newest: Snapshot, rows: QuerySet[Snapshot], wanted: Collection[int]) -> dict[int, Standing]:
        """The standings of the ``wanted``."""
        found = {newest.number: Standing("present") if self._is_seen else self._standing()}
        walked = 0
        for number, data in rows.values_list("number", "changes").order_by("-number"):
            changes = unpack_changes(data)
            walked += len(changes)
            if walked > _MOST_CHANGES:
                break
            for name, (before, _) in changes.items():
                self._set(name, before)
            if number - 1 in wanted:
                found[number - 1] = self._standing()
        return {n: found.get(n, Standing("unknown")) for n in wanted}

    def _set(self, name: str, crc: int | None) -> None:
        """The snapshot that is judged next has the segment with this CRC, or (None) not at all."""
        for names in (self._away, self._other, self._unseen, self._more):
            names.discard(name)
        if crc is None:
            if name in self._visible and not self._is_streamed(name):
                self._more.add(name)
            return
        if name not in self._visible:
            self._unseen.add(name)
        if name not in self._seen.ideal.maps:
            self._away.add(name)
        elif crc and self._now.get(name, crc) not in (0, crc):
            self._other.add(name)

    @property
    def _is_seen(self) -> bool:
        """Do queries see all of it, and nothing else but rows of the stream?"""
        return not self._unseen and not self._more

    def _is_streamed(self, name: str) -> bool:
        return self._is_stream and is_llc_name(name)

    def _standing(self) -> Standing:
        if self._other:
            return Standing("expired", f"Segment '{min(self._other)}' was overwritten since.")
        if self._is_seen and self._is_stream:
            return Standing("grown")
        if not self._away:
            return Standing("served")
        lost = self._away.difference(self._files())
        if lost:
            return Standing("expired", f"The files of {counted(len(lost), 'segment')} are gone, e.g. '{min(lost)}'.")
        return Standing("kept")

    def _files(self) -> Collection[str]:
        """Names of segments whose files are kept; read once, when first needed."""
        if self._kept is None:
            ctx, seen = self._ctx, self._seen
            has_files = ctx.deep_store.exists and ctx.engine.lineage.keeps_deleted(ctx, seen.config)
            queued = ctx.engine.segments.waiting_deletions(ctx, seen.table) if has_files else {}
            self._kept = {*queued} | archive.kept_names(ctx, seen.table) if has_files else set()
        return self._kept
