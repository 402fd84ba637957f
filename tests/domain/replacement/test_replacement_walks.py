"""Random walks over start, upload, end, revert and retention: no step but end and revert changes what queries see, and
those exactly.

``WALK_EXAMPLES=3000`` walks longer than the default run does.
"""

from __future__ import annotations

import os

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from segments.domain.replacement import decisions as replacement
from segments.domain.replacement import lineage as lineages
from segments.domain.replacement.decisions import Replacement
from segments.domain.replacement.lineage import LIVE, State
from segments.domain.tables.table_config import parse_table_config
from segments.domain.upkeep import retention
from segments.errors import Rejected

CONFIG = parse_table_config(
    {
        "tableName": "t",
        "tableType": "OFFLINE",
        "ingestionConfig": {"batchIngestionConfig": {"segmentIngestionType": "REFRESH"}},
    }
)
HOUR = 3_600_000


class Walk(RuleBasedStateMachine):
    """``ideal`` is the ideal state, ``expected`` what queries must see."""

    @initialize()
    def begin(self) -> None:
        self.lineage = lineages.empty("t_OFFLINE")
        self.ideal: set[str] = {"s0", "s1", "s2"}
        self.expected: set[str] = set(self.ideal)
        self.now, self.count = 10 * HOUR, 0

    def fresh(self) -> str:
        self.count += 1
        return f"n{self.count}"

    @rule(data=st.data(), force=st.booleans(), reuse=st.booleans())
    def start(self, data: st.DataObject, force: bool, reuse: bool) -> None:
        old = data.draw(st.lists(st.sampled_from(sorted(self.ideal) or ["none"]), unique=True, max_size=3))
        reverted = {s for e in self.lineage.entries.values() if e.state is State.REVERTED for s in e.segments_to}
        known = sorted(
            reverted or {s for e in self.lineage.entries.values() for s in e.segments_to + e.segments_from} - set(old)
        )
        new = [self.fresh()] + ([data.draw(st.sampled_from(known))] if reuse and known else [])
        try:
            replacement.check_request(old, new)
            wanted = Replacement(tuple(old), tuple(new), force)
            decided = replacement.start(self.lineage, wanted, entry_id=self.fresh(), ideal=self.ideal, now_ms=self.now)
        except Rejected:
            return
        self.lineage, self.ideal = decided.lineage, self.ideal - set(decided.delete)

    @rule(data=st.data(), whole=st.booleans())
    def upload(self, data: st.DataObject, whole: bool) -> None:
        """Only segments of running entries, as fenced uploads do (rule `fenced-uploads`)."""
        running = sorted((e for e in self.lineage.entries.values() if e.state is State.IN_PROGRESS), key=lambda e: e.id)
        if running:
            names = data.draw(st.sampled_from(running)).segments_to
            self.ideal.update(names if whole else [data.draw(st.sampled_from(names))])

    @rule(data=st.data(), narrow=st.booleans())
    def end(self, data: st.DataObject, narrow: bool) -> None:
        if not self.lineage.entries:
            return
        entry = self.lineage.entries[data.draw(st.sampled_from(sorted(self.lineage.entries)))]
        body = entry.segments_to[:1] if narrow else ()
        try:
            decided = replacement.end(
                self.lineage, entry.id, segments_to=body, ideal=self.ideal, is_refresh=True, now_ms=self.now
            )
        except Rejected:
            return
        self.lineage = decided.lineage
        if decided.changed:
            self.expected = self.expected - set(entry.segments_from) | set(decided.entry.segments_to)
        self.ideal -= set(decided.remove_now) | set(decided.delete)

    @rule(data=st.data(), force=st.booleans())
    def revert(self, data: st.DataObject, force: bool) -> None:
        if not self.lineage.entries:
            return
        entry = self.lineage.entries[data.draw(st.sampled_from(sorted(self.lineage.entries)))]
        try:
            decided = replacement.revert(
                self.lineage, entry.id, force=force, ideal=dict.fromkeys(self.ideal, True), now_ms=self.now
            )
        except Rejected:
            return
        self.lineage = decided.lineage
        if entry.state is State.COMPLETED:
            self.expected = self.expected - set(entry.segments_to) | set(entry.segments_from)
        self.ideal -= set(decided.delete)

    @rule(hours=st.integers(0, 30))
    def retention_pass(self, hours: int) -> None:
        self.now += hours * HOUR
        plan = retention.plan_lineage(self.lineage, CONFIG, self.ideal, self.now)
        self.ideal -= set(plan.delete) & self.lineage.hidden()
        again = retention.plan_lineage(self.lineage, CONFIG, self.ideal, self.now)
        self.lineage = self.lineage.having(without=again.drop)

    @invariant()
    def queries_see_exactly_one_side(self) -> None:
        if hasattr(self, "lineage"):
            assert set(self.lineage.visible(self.ideal)) == self.expected

    @invariant()
    def the_stored_form_is_the_same_value(self) -> None:
        if hasattr(self, "lineage"):
            assert lineages.from_record(lineages.to_record(self.lineage)).entries == self.lineage.entries
            assert all(e.state in LIVE or not e.locks for e in self.lineage.entries.values())


Walk.TestCase.settings = settings(
    max_examples=int(os.environ.get("WALK_EXAMPLES", "200")), stateful_step_count=40, deadline=None
)
TestWalk = Walk.TestCase
