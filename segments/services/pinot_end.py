"""End of replacements on a real Pinot: checks on the hidden new side as on our own cluster, then Pinot's switch, then its brokers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from segments.domain import pinot_version, replacement
from segments.domain.lineage import Entry, Lineage, State
from segments.domain.replacement import Decision
from segments.names import TableName
from segments.services import audit, pinot_deletion, snapshot_checks
from segments.services.context import Actor, Context
from segments.services.end_readiness import require_ready
from segments.services.lineage_record import Observed, observe
from segments.services.online import Progress
from segments.services.pinot_calls import Answering, Doubt, controller, quoted, require, settled
from segments.services.pinot_lineage import lineage_now
from segments.services.pinot_routing import show

_ROUNDS: Final = 3
_TOLD: Final = 100
#: Seconds for Pinot's part: the segments are online already when it is asked.
_ANSWER_S: Final = 60.0


def end_replace(
    ctx: Context,
    table: TableName,
    entry_id: str,
    *,
    segments_to: Sequence[str],
    cleanup: bool,
    actor: Actor,
    progress: Progress | None,
    override: str,
    guard: Callable[[Entry], object] | None,
) -> None:
    """Check the hidden new side as on our own cluster, then have Pinot switch, then wait until its brokers answer from it."""
    end = _End(ctx, table, entry_id, tuple(segments_to), actor, override, progress, guard)
    decision = end.run()
    # Also when it was over before: the message to the brokers may have been lost with the answer that is asked for again.
    shown = show(ctx, table, end.before, end.before.having(decision.entry))
    audit.record(
        actor, "endReplaceSegments", cluster=ctx.cluster, target=table.typed, entry=entry_id, changed=decision.changed,
        deleted=list(decision.remove_now[:_TOLD]), cleanup=cleanup, **shown.detail(),
    )  # fmt: skip


@dataclass
class _End:
    """One end; decided afresh before every request. ``before`` is the lineage right before the switch."""

    ctx: Context
    table: TableName
    entry_id: str
    segments_to: tuple[str, ...]
    actor: Actor
    override: str
    progress: Progress | None
    guard: Callable[[Entry], object] | None
    files: dict[str, str] = field(default_factory=dict)
    before: Lineage = field(default_factory=lambda: Lineage(""))

    def run(self) -> Decision:
        """Until Pinot has it; again when a segment was uploaded anew after the checks."""
        for _ in range(_ROUNDS):
            decision = self._make_ready()
            if not decision.changed:
                return decision
            with suppress(snapshot_checks.FilesChanged):
                return self._switch()
        raise snapshot_checks.uploading_again(self.table, self.entry_id)

    def _decide(self) -> tuple[Observed, Decision]:
        seen = observe(self.ctx, self.table)
        if self.guard is not None:
            self.guard(seen.lineage.entry(self.entry_id))
        decision = replacement.end(
            seen.lineage, self.entry_id, segments_to=self.segments_to, ideal=seen.ideal.maps, is_refresh=False, now_ms=self.ctx.clock()
        )
        return seen, decision

    def _make_ready(self) -> Decision:
        seen, first = self._decide()
        if not first.changed:
            self.before = seen.lineage.having(replace(first.entry, state=State.IN_PROGRESS))
            return first
        if self.segments_to and len(self.segments_to) < len(seen.lineage.entry(self.entry_id).segments_to):
            require(self.ctx, pinot_version.END_PART)
        self.files = require_ready(
            self.ctx, self.table, first.entry, seen.config, is_part=bool(self.segments_to), actor=self.actor,
            override=self.override, progress=self.progress, is_worth_it=Answering(controller(self.ctx)).require,
        )  # fmt: skip
        return first

    def _switch(self) -> Decision:
        seen, decision = self._decide()
        if not decision.changed:
            return decision
        if self.files:
            snapshot_checks.same_files(self.ctx, self.table, self.files)
        self.before = seen.lineage
        if decision.remove_now:  # they would be visible after the end (B8), and now nobody can see them
            pinot_deletion.delete_hidden(self.ctx, self.table, decision.remove_now)

        def send() -> bool:
            body = {"segmentsTo": list(self.segments_to)} if self.segments_to else None
            params = {"type": self.table.type, "segmentLineageEntryId": self.entry_id, "cleanup": False}
            path = f"/segments/{quoted(self.table.raw)}/endReplaceSegments"
            controller(self.ctx).send("POST", path, params, body, timeout=_ANSWER_S)
            return True

        def look(doubt: Doubt) -> bool | None:
            entry = lineage_now(self.ctx, self.table).entry(self.entry_id)
            if entry.state is State.COMPLETED:
                return True
            self._decide()  # raises why it can not be ended any more
            return None

        settled(send, look)
        return decision
