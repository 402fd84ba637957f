"""Start of replacements on a real Pinot: decided as on our own cluster, on record before it is sent, searched for when
the answer is lost.

What our rules refuse is never sent (rule `no-mutual-hiding`, rule `refusals-are-4xx`). After a lost answer, or a 500
that hides its cause, the lineage is read, and only what is not there is sent again (``calls.settled``).
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from segments.clusters.pinot.calls import Doubt, controller, odd_answer, quoted, settled, version
from segments.clusters.pinot.replacement.lineage import entry_of_start, lineage_now
from segments.clusters.pinot.replacement.start_records import (
    StartIntent,
    find_intent,
    forget_intent,
    keep_intent,
    note_started,
)
from segments.domain.pinot import capabilities
from segments.domain.pinot import cleanup as pinot_cleanup
from segments.domain.replacement import decisions as replacement
from segments.errors import Conflict, NotFound, OutcomeUnknown, PinotAdminError
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.engine.lineage import Start, Started
from segments.services.replacement.lineage_record import note_entry, observe

#: Seconds that Pinot's answer is waited for before the lineage is read. 0.11.0 writes the entry first, deletes
#: what the start cleans up, and answers only when the last record of that is gone, for up to 20 minutes. A segment that
#: a server was just loading it keeps until the table changes again, as with the upload that follows the start.
_ANSWER_S: Final = 5.0
#: Seconds until a start without an answer that the lineage does not show counts as lost, and between two reads until
#: then.
_LOST_S: Final = 60.0
_POLL_S: Final = 1.0


def start(ctx: Context, table: TableName, asked: Start) -> Started:
    """As ``LineageEngine.start``: it is on record before it is sent, so that repeating it with the same ``entry_id``
    continues the search for an entry whose id was lost.
    """
    intent = find_intent(ctx, table, asked.entry_id) if asked.entry_id else None
    if intent is not None and intent.entry:
        return Started(intent.entry)
    deleted: tuple[str, ...] = ()
    if intent is None:
        deleted = _check(ctx, table, asked)
        intent = keep_intent(ctx, table, asked, known=sorted(lineage_now(ctx, table).entries))
    entry_id = resolve_start(ctx, table, intent) or _send_start(ctx, table, intent, asked)
    adopt(ctx, table, intent, entry_id)
    return Started(entry_id, deleted)


def resolve_start(ctx: Context, table: TableName, intent: StartIntent) -> str | None:
    """Pinot's id for a start on record, None when it has not arrived."""
    if intent.entry:
        return intent.entry
    found = entry_of_start(lineage_now(ctx, table), intent.segments_from, intent.segments_to, intent.known)
    return found.id if found else None


def adopt(ctx: Context, table: TableName, intent: StartIntent, entry_id: str) -> None:
    """Write down that the start is there under this id, and what we know of it. Repeating it changes nothing."""
    note_started(ctx, table, intent, entry_id)
    with suppress(
        NotFound, Conflict
    ):  # gone again, or read from a part of Pinot's ZooKeeper that is behind: the notes can be missed
        note_entry(ctx, table, entry_id, dict(intent.notes))


def _check(ctx: Context, table: TableName, asked: Start) -> tuple[str, ...]:
    """Refuse what our rules refuse; the segments that Pinot will delete at this start."""
    wanted, seen = asked.wanted, observe(ctx, table)
    replacement.start(seen.lineage, wanted, entry_id="new", ideal=seen.ideal.maps, now_ms=ctx.clock())
    gone = pinot_cleanup.check_start(seen.lineage, wanted, is_refresh=seen.config.is_refresh, ideal=seen.ideal.maps)
    asked.admit(seen, seen.lineage, gone)
    return gone


def _send_start(ctx: Context, table: TableName, intent: StartIntent, asked: Start) -> str:
    sending = _Sending(ctx, table, intent, asked)
    try:
        return settled(sending.send, sending.find)
    except PinotAdminError as error:
        if error.permanent:
            forget_intent(ctx, table, intent.id)
        raise


@dataclass
class _Sending:
    """One start on its way. ``sent_at``: when it was sent last (monotonic seconds), 0: not yet."""

    ctx: Context
    table: TableName
    intent: StartIntent
    asked: Start
    sent_at: float = 0.0

    def send(self) -> str:
        """Pinot's id of the entry."""
        # Repeated without forceCleanup: an earlier attempt that arrives late must not be cleaned up by this one, but
        # refuse it.
        params = {"type": self.table.type, "forceCleanup": self.intent.force_cleanup and not self.sent_at}
        self.sent_at = time.monotonic()
        path = f"/segments/{quoted(self.table.raw)}/startReplaceSegments"
        answer = controller(self.ctx).send("POST", path, params, self._body(), timeout=_ANSWER_S)
        entry_id = answer.get("segmentLineageEntryId") if isinstance(answer, dict) else None
        if not isinstance(entry_id, str) or not entry_id:
            raise OutcomeUnknown(odd_answer(path, "no id of an entry").message, remedy="Check the table's lineage.")
        return entry_id

    def find(self, doubt: Doubt) -> str | None:
        """The entry that it made; None: there is none, and it may be sent again."""
        is_slow = time.monotonic() - self.sent_at >= _ANSWER_S
        found = resolve_start(self.ctx, self.table, self.intent)
        while found is None and is_slow and time.monotonic() - self.sent_at < _LOST_S:
            time.sleep(_POLL_S)
            found = resolve_start(self.ctx, self.table, self.intent)
        if found is None:
            _check(self.ctx, self.table, self.asked)
        return found

    def _body(self) -> dict[str, Any]:
        intent, custom = self.intent, self.asked.custom_map
        body: dict[str, Any] = {"segmentsFrom": list(intent.segments_from), "segmentsTo": list(intent.segments_to)}
        foreign = {k: v for k, v in custom.items() if not k.startswith("pinotadmin.")}
        if foreign and capabilities.has(version(self.ctx), capabilities.CUSTOM_MAP):
            body["customMap"] = foreign
        return body
