"""End of replacements on a real Pinot: checks on the hidden new side as on our own cluster, then Pinot's switch, then
its brokers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from segments.clusters.pinot.calls import Answering, Doubt, controller, quoted, require, settled
from segments.clusters.pinot.replacement.lineage import lineage_now
from segments.clusters.pinot.replacement.routing import show
from segments.clusters.pinot.segments import deletion as pinot_deletion
from segments.domain.pinot import version as pinot_version
from segments.domain.replacement import decisions as replacement
from segments.domain.replacement.decisions import Decision
from segments.domain.replacement.lineage import Lineage, State
from segments.services.core import audit
from segments.services.replacement.checks import snapshot_checks
from segments.services.replacement.ends.end_readiness import EndRequest
from segments.services.replacement.lineage_record import Observed

_TOLD: Final = 100
#: Seconds for Pinot's part: the segments are online already when it is asked.
_ANSWER_S: Final = 60.0


def end_replace(asked: EndRequest, *, cleanup: bool) -> None:
    """Check the hidden new side as on our own cluster, then have Pinot switch, then wait until its brokers answer from
    it.
    """
    ctx, table = asked.ctx, asked.table
    end = _End(asked)
    decision = asked.until_files_stay(end.attempt)
    # Also when it was over before: the message to the brokers may have been lost with the answer that is asked for
    # again.
    shown = show(ctx, table, end.before, end.before.having(decision.entry))
    audit.record(
        asked.actor,
        "endReplaceSegments",
        cluster=ctx.cluster,
        target=table.typed,
        entry=asked.entry_id,
        changed=decision.changed,
        deleted=list(decision.remove_now[:_TOLD]),
        cleanup=cleanup,
        **shown.detail(),
    )


@dataclass
class _End:
    """One end; decided afresh before every request. ``before`` is the lineage right before the switch."""

    asked: EndRequest
    before: Lineage = field(default_factory=lambda: Lineage(""))

    def attempt(self) -> Decision:
        """Until Pinot has it. Raises FilesChanged when a segment was uploaded anew after the checks."""
        asked = self.asked
        seen, first = self._decide()
        if not first.changed:
            self.before = seen.lineage.having(replace(first.entry, state=State.IN_PROGRESS))
            return first
        if asked.segments_to and len(asked.segments_to) < len(seen.lineage.entry(asked.entry_id).segments_to):
            require(asked.ctx, pinot_version.END_PART)
        return self._switch(asked.require_ready(first.entry, seen.config, Answering(controller(asked.ctx)).require))

    def _decide(self) -> tuple[Observed, Decision]:
        asked, seen = self.asked, self.asked.observe()
        decision = replacement.end(
            seen.lineage,
            asked.entry_id,
            segments_to=asked.segments_to,
            ideal=seen.ideal.maps,
            is_refresh=False,
            now_ms=asked.ctx.clock(),
        )
        return seen, decision

    def _switch(self, files: dict[str, str]) -> Decision:
        """``files``: those that the checks read."""
        ctx, table, entry_id, segments_to = (
            self.asked.ctx,
            self.asked.table,
            self.asked.entry_id,
            self.asked.segments_to,
        )
        seen, decision = self._decide()
        if not decision.changed:
            return decision
        if files:
            snapshot_checks.same_files(ctx, table, files)
        self.before = seen.lineage
        if decision.remove_now:  # they would be visible after the end (B8), and now nobody can see them
            pinot_deletion.delete_hidden(ctx, table, decision.remove_now)

        def send() -> bool:
            body = {"segmentsTo": list(segments_to)} if segments_to else None
            params = {"type": table.type, "segmentLineageEntryId": entry_id, "cleanup": False}
            controller(ctx).send(
                "POST", f"/segments/{quoted(table.raw)}/endReplaceSegments", params, body, timeout=_ANSWER_S
            )
            return True

        def look(doubt: Doubt) -> bool | None:
            if lineage_now(ctx, table).entry(entry_id).state is State.COMPLETED:
                return True
            self._decide()  # raises why it can not be ended any more
            return None

        settled(send, look)
        return decision
