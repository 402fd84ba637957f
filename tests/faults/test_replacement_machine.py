"""The protocol under random clients that die, lose replies, race and live with jumping clocks, one broker that lags
behind, and retention.

Whatever happens: queries see exactly one side of every replacement, nothing that an answer could need is deleted, every
entry comes to an end, and history is not lost. ``WALK_EXAMPLES=2000`` walks longer than the default run does.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unittest import mock

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from segments.clusters.embedded.segments.deletion_queue import read_queue
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.replacement.lineage import Entry, State
from segments.errors import PinotAdminError
from segments.services.core.context import Limits
from segments.services.replacement.lineage_record import observe
from segments.store import paths
from segments.store.memory import MemoryStore
from tests.faults.controllers import Controller
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan

HOUR = 3_600_000
BROKER = "Broker_a_1"
#: Where the next action is hit, and how; most are not.
PLANS = st.one_of(st.just({}), st.dictionaries(st.integers(1, 5), st.sampled_from(Fault), max_size=2))


class Clients(RuleBasedStateMachine):
    """``expected`` is what queries must see by the history of states alone; ``routed`` what the broker answers from."""

    @initialize(kept=st.sampled_from([None, "0", "1", "2"]))
    def begin(self, kept: str | None) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.unaudited = mock.patch("segments.services.core.audit.record")
        self.unaudited.start()
        self.memory = MemoryStore()
        limits = Limits(replicas_online_s=0.0, broker_ack_s=0.0)
        self.main = Controller(self.memory, Path(self.folder.name), now=1_700_000_000_000)
        self.main.ctx = self.main.ctx.__class__(
            **{**self.main.ctx.__dict__, "limits": limits, "clock": lambda: self.main.now}
        )
        self.main.create(custom={"pinotadmin.replacement.snapshotsKept": kept} if kept else None)
        self.memory.create(paths.live_instance(BROKER), ZNRecord(BROKER))
        self.main.upload("s0", "s1", "s2")
        self.expected, self.entries, self.count = {"s0", "s1", "s2"}, dict[str, Entry](), 0
        self.broker_reads()

    def teardown(self) -> None:
        if hasattr(self, "main"):
            self.everything_comes_to_an_end()
            self.unaudited.stop()
            self.folder.cleanup()

    # What may happen

    def act(self, plan: dict[int, Fault], do: Callable[[Controller], object]) -> None:
        """As a process that may die or lose replies at its k-th write; a refusal is an answer."""
        with suppress(Cut, PinotAdminError):
            do(self.main.on(FaultyStore(self.memory, Plan(plan))))
        self.note()

    def note(self, *, dropping: bool = False) -> None:
        """Follow the states: a switch changes what must be seen, nothing else does."""
        now = dict(self.main.look().lineage.entries)
        for entry in [now.get(i) or old for i, old in self.entries.items()] + [
            e for i, e in now.items() if i not in self.entries
        ]:
            before = self.entries.get(entry.id)
            was, is_ = before.state if before else State.IN_PROGRESS, now[entry.id].state if entry.id in now else None
            if is_ is State.COMPLETED and was is not State.COMPLETED:
                self.expected = self.expected - set(entry.segments_from) | set(entry.segments_to)
            if is_ is State.REVERTED and was is State.COMPLETED and before is not None:
                self.expected = self.expected - set(before.segments_to) | set(before.segments_from)
            if is_ is None and not dropping:
                taken = {s for e in now.values() if e.id not in self.entries for s in e.segments_to}
                assert was is State.IN_PROGRESS, f"{entry} is lost"
                assert set(entry.segments_to) <= taken, f"{entry} is lost"
        self.entries = now

    @rule(data=st.data(), force=st.booleans(), reuse=st.booleans(), plan=PLANS)
    def start(self, data: st.DataObject, force: bool, reuse: bool, plan: dict[int, Fault]) -> None:
        """Of what is seen, or of anything; with new names, or some that were used before."""
        pool = sorted(self.expected) if data.draw(st.integers(0, 4)) else sorted(self.main.look().ideal.maps)
        old = data.draw(st.lists(st.sampled_from(pool or ["none"]), unique=True, max_size=3))
        known = sorted({s for e in self.entries.values() for s in e.segments_to + e.segments_from} - set(old))
        new = [self.fresh(), self.fresh()][: data.draw(st.integers(1, 2))]
        new += [data.draw(st.sampled_from(known))] if reuse and known else []
        self.act(plan, lambda c: c.start(old, new, force=force, entry=self.fresh("e")))

    @rule(data=st.data())
    def upload_a_part(self, data: st.DataObject) -> None:
        """Only into running entries, as fenced uploads do (rule `fenced-uploads`)."""
        entry = self.one_of(data, State.IN_PROGRESS)
        if entry is not None and entry.segments_to:
            self.main.upload(data.draw(st.sampled_from(entry.segments_to)))

    @rule(data=st.data(), narrow=st.sampled_from([False, False, True]), plan=PLANS)
    def upload_and_end(self, data: st.DataObject, narrow: bool, plan: dict[int, Fault]) -> None:
        entry = self.one_of(data, State.IN_PROGRESS)
        if entry is not None:
            self.main.upload(*entry.segments_to)
            self.act(plan, lambda c: c.end(entry.id, entry.segments_to[:1] if narrow else ()))

    @rule(data=st.data(), plan=PLANS, times=st.integers(1, 2))
    def forced_pushes(self, data: st.DataObject, plan: dict[int, Fault], times: int) -> None:
        """The whole table replaced, as consistent pushes do it; the last end may be cut."""
        for i in range(times):
            entry, new, old = self.fresh("e"), self.fresh(), sorted(self.expected)
            with suppress(PinotAdminError):
                self.main.start(old, [new], force=True, entry=entry)
                self.note()
                self.main.upload(new)
                self.act(plan if i == times - 1 else {}, lambda c, entry=entry: c.end(entry))

    @rule(data=st.data(), state=st.sampled_from(State), plan=PLANS)
    def end_any(self, data: st.DataObject, state: State, plan: dict[int, Fault]) -> None:
        entry = self.one_of(data, state)
        if entry is not None:
            self.act(plan, lambda c: c.end(entry.id))

    @rule(
        data=st.data(),
        state=st.sampled_from([State.COMPLETED, State.COMPLETED, State.IN_PROGRESS, State.REVERTED]),
        plan=PLANS,
    )
    def revert(self, data: st.DataObject, state: State, plan: dict[int, Fault]) -> None:
        entry = self.one_of(data, state)
        if entry is not None:
            self.act(plan, lambda c: c.revert(entry.id))

    @rule(plan=PLANS)
    def roll_back_the_newest(self, plan: dict[int, Fault]) -> None:
        done = [e for e in self.entries.values() if e.state is State.COMPLETED]
        if done:
            newest = max(done, key=lambda e: (e.timestamp_ms, int(e.id[1:])))
            self.act(plan, lambda c: c.revert(newest.id))

    def one_of(self, data: st.DataObject, state: State) -> Entry | None:
        found = sorted(i for i, e in self.entries.items() if e.state is state)
        return self.entries[data.draw(st.sampled_from(found))] if found else None

    @rule(data=st.data(), at=st.integers(1, 2), other=st.sampled_from(["end", "revert", "retain"]))
    def race(self, data: st.DataObject, at: int, other: str) -> None:
        """Another controller does something right before a write of a forced start, an end or a revert."""
        if not self.entries:
            return
        mine, theirs = (data.draw(st.sampled_from(sorted(self.entries))) for _ in range(2))
        visible, what = sorted(self.expected), data.draw(st.sampled_from(["start", "end", "revert"]))

        def in_between() -> None:
            with suppress(PinotAdminError):
                self.main.retain() if other == "retain" else getattr(self.main, other)(theirs)
            self.note(dropping=other == "retain")

        me = self.main.on(FaultyStore(self.memory, Plan(before={at: in_between})))
        with suppress(PinotAdminError):
            me.start(visible, [self.fresh()], force=True, entry=self.fresh("e")) if what == "start" else getattr(
                me, what
            )(mine)
        self.note()

    @rule(hours=st.integers(-3, 30), plan=PLANS)
    def retention_pass(self, hours: int, plan: dict[int, Fault]) -> None:
        """Clocks jump, also back; what is due goes in passes that may die."""
        hours = hours if hours > 20 or hours < 0 else 0
        self.main.now += hours * HOUR
        self.main.serve()
        with suppress(Cut, PinotAdminError):
            self.main.on(FaultyStore(self.memory, Plan(plan))).retain()
        self.note(dropping=True)

    @rule()
    def broker_reads(self) -> None:
        """The broker takes over the present routing and says so."""
        seen = self.main.look()
        node = self.memory.get(paths.lineage(self.main.table.typed))
        self.routed = set(seen.lineage.visible(seen.ideal.maps))
        path = paths.routing_ack(self.main.table.typed, BROKER)
        record, old = ZNRecord(BROKER, {"lineageZxid": str(node.mzxid if node else 0)}), self.memory.get(path)
        self.memory.create(path, record) if old is None else self.memory.replace(path, record, old.version)

    def fresh(self, prefix: str = "n") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    # What must hold

    @invariant()
    def queries_see_exactly_one_side_of_every_replacement(self) -> None:
        if hasattr(self, "expected"):
            assert self.main.visible == self.expected

    @invariant()
    def what_a_broker_answers_from_is_still_there(self) -> None:
        if hasattr(self, "routed"):
            seen = self.main.look()
            assert self.routed <= set(seen.ideal.maps), (
                f"{self.routed - set(seen.ideal.maps)} left while the broker routes to them"
            )

    @invariant()
    def what_is_visible_has_its_record_and_its_file(self) -> None:
        if hasattr(self, "expected"):
            present = set(self.memory.children(paths.segments(self.main.table.typed)))
            files = {f.name for f in self.main.ctx.deep_store.files(self.main.table.raw)}
            assert self.expected <= present & files

    def everything_comes_to_an_end(self) -> None:
        """Two days later nothing is unfinished, nothing waits for deletion, and queries see what they saw."""
        for _ in range(4):
            self.main.now += 48 * HOUR
            self.broker_reads()
            self.main.serve()
            self.main.retain()
        assert {e.state for e in observe(self.main.ctx, self.main.table).lineage.entries.values()} <= {State.COMPLETED}
        assert read_queue(self.main.ctx, self.main.table).items == {}
        assert self.main.visible == self.expected


Clients.TestCase.settings = settings(
    max_examples=int(os.environ.get("WALK_EXAMPLES", "60")), stateful_step_count=25, deadline=None
)
TestClients = Clients.TestCase
