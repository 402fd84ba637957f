"""Random walks over the completion machine: N servers, messages lost, repeated and reordered, crashes, and clocks that
jump.

What holds after every step:
1. A segment is committed at most once, by the committer, at the winning offset; its end never changes afterwards.
2. COMMIT_CONTINUE is sent to nobody but the committer, KEEP to nobody who is elsewhere than the committed end.
   In a pauseless round the end is fixed by the commit's start: one, for ever, whoever commits and whichever process
   answers; KEEP may be answered from then on.
3. There is a committer exactly from COMMITTER_DECIDED on, and its deadline lies within the cap; a pauseless commit that
   has started may have lost it.
4. A message that is refused (FAILED) leaves committer, offset and time as they were.
5. What is stored can be read back as the same value.
6. However the walk went, polite servers that live get the segment committed within a few rounds, or within a few more
   once the time of a committer that went past its end is up.

``WALK_EXAMPLES=3000`` walks longer than the default run does.
"""

from __future__ import annotations

import os

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from segments.domain.realtime.completion import PAUSELESS, STANDARD, Answer, Kind, Machine, Message, State, Status
from segments.domain.realtime.completion.machine import CAP_MS
from tests.domain.completion.script import Stage, at

SERVERS = st.integers(0, 3)
_WITH_WINNER = (State.COMMITTER_DECIDED, State.COMMITTER_NOTIFIED, State.COMMITTER_UPLOADING)


class Walk(RuleBasedStateMachine):
    """``offsets``: where each server stands; ``sent``: every message ever sent, for repeats."""

    @initialize(replicas=st.integers(1, 4), kind=st.sampled_from([STANDARD, PAUSELESS]))
    def begin(self, replicas: int, kind: str) -> None:
        self.stage, self.now, self.replicas = Stage(replicas=replicas, kind=kind), 10_000_000, replicas
        self.offsets = [10 * (i + 1) for i in range(replicas)]
        self.sent: list[Message] = []
        self.end = None

    def name(self, server: int) -> str:
        return f"S{server % self.replicas}"

    def deliver(self, message: Message) -> Answer:
        before, committed, started = self.stage.machine, self.stage.committed, self.stage.started
        answer = self.stage.say(message, self.now)
        if committed is None and self.stage.committed is not None:
            assert before is not None
            assert (message.instance, message.offset) == (before.winner, before.winning)
            assert started in (None, message.offset)
        if started is not None:
            assert self.stage.started == started
            assert committed is not None or self.stage.machine is None or self.stage.machine.winning == started
        if committed is not None:
            assert self.stage.committed == committed
        if answer.status is Status.COMMIT_CONTINUE:
            assert before is not None
            assert before.winner == message.instance
            assert before.winning == message.offset
        if answer.status is Status.KEEP:
            assert message.offset in (self.stage.committed, started)
        if answer.status is Status.FAILED and before is not None:
            self.is_as_it_was(before)
        return answer

    def is_as_it_was(self, before: Machine) -> None:
        after = self.stage.machine
        assert after is not None
        assert (after.winner, after.winning, after.state) == (before.winner, before.winning, before.state)
        if before.winner is not None:
            assert after.deadline_ms - after.start_ms == before.deadline_ms - before.start_ms

    def send(self, message: Message) -> Answer:
        self.sent.append(message)
        return self.deliver(message)

    def act(self, server: int, answer: Answer) -> None:
        """What a server does with an answer."""
        if answer.status is Status.CATCH_UP and answer.offset is not None:
            self.offsets[server % self.replicas] = max(self.offsets[server % self.replicas], int(answer.offset))

    @rule(server=SERVERS, reason=st.sampled_from([None, "rowLimit", "timeLimit"]), is_lost=st.booleans())
    def report(self, server: int, reason: str | None, is_lost: bool) -> None:
        answer = self.send(
            Message(Kind.CONSUMED, self.name(server), at(self.offsets[server % self.replicas]), reason, session="x")
        )
        if not is_lost:
            self.act(server, answer)

    @rule(
        server=SERVERS,
        kind=st.sampled_from([Kind.COMMIT_START, Kind.COMMIT_END, Kind.EXTEND]),
        shift=st.sampled_from([0, 0, 0, 1, -1]),
    )
    def go_on(self, server: int, kind: Kind, shift: int) -> None:
        self.send(Message(kind, self.name(server), at(self.offsets[server % self.replicas] + shift)))

    @rule(server=SERVERS)
    def stop(self, server: int) -> None:
        self.send(Message(Kind.STOPPED, self.name(server), at(self.offsets[server % self.replicas])))

    @rule(server=SERVERS)
    def fail_to_build(self, server: int) -> None:
        self.send(Message(Kind.BUILD_FAILED, self.name(server)))

    @rule(server=SERVERS)
    def crash(self, server: int) -> None:
        """Its rows since the segment's start are gone; the controller sees its session end."""
        if self.stage.machine is not None:
            self.deliver(Message(Kind.LOST, self.name(server)))
        self.offsets[server % self.replicas] = 1

    @rule(server=SERVERS, rows=st.integers(1, 30))
    def consume(self, server: int, rows: int) -> None:
        self.offsets[server % self.replicas] += rows

    @rule()
    def lose_the_round(self) -> None:
        """The znode of the machine is removed or cannot be read: records are all there is."""
        self.stage.machine = None

    @rule(kind=st.sampled_from([STANDARD, PAUSELESS]))
    def switch(self, kind: str) -> None:
        """The table's config changes: rounds to come are of this kind."""
        self.stage.kind = kind

    @rule(is_crowded=st.booleans())
    def crowd(self, is_crowded: bool) -> None:
        """So many other segments of the partition are being committed."""
        self.stage.is_crowded = is_crowded

    @rule(which=st.integers(0, 10_000))
    def repeat(self, which: int) -> None:
        """An old message comes once more, or late."""
        if self.sent:
            self.deliver(self.sent[which % len(self.sent)])

    @rule(ms=st.sampled_from([1, 100, 3_000, 3_400, 7_000, 130_000, 2_000_000, -5_000, -3_600_000]))
    def wait(self, ms: int) -> None:
        self.now += ms

    @invariant()
    def a_committer_has_its_offset_and_time(self) -> None:
        machine = self.stage.machine if hasattr(self, "stage") else None
        if machine is None:
            return
        has_winner = machine.state in _WITH_WINNER
        assert (machine.winning is not None) == has_winner
        if machine.has_started:
            assert machine.winning == self.stage.started
            return
        assert (machine.winner is not None) == has_winner
        if has_winner:
            assert machine.deadline_ms <= machine.start_ms + CAP_MS
            assert (
                machine.winning == machine.offsets.get(machine.winner or "")
                or machine.state is not State.COMMITTER_NOTIFIED
            )

    def teardown(self) -> None:
        if not hasattr(self, "stage"):
            return
        self.stage.is_crowded = False
        for _ in range(2):
            for _ in range(12):
                if self.stage.committed is not None:
                    return
                for server in range(self.replicas):
                    self.polite(server)
                self.now += 3_000
            if self.stage.machine is not None:  # a committer that went past its end keeps its time
                self.now = max(self.now, self.stage.machine.deadline_ms + 1)
        if self.stage.started is not None and all(o > int(self.stage.started.text) for o in self.offsets):
            return  # nobody stands at the end that is on record: the copy of a server, or the stream, has to end it
        raise AssertionError(f"polite servers never commit: {self.stage.machine} at {self.now}")

    def polite(self, server: int) -> None:
        """One round of a server that follows the answer."""
        answer = self.deliver(Message(Kind.CONSUMED, self.name(server), at(self.offsets[server]), session="x"))
        self.act(server, answer)
        if answer.status is not Status.COMMIT:
            return
        if (
            self.deliver(Message(Kind.COMMIT_START, self.name(server), at(self.offsets[server]))).status
            is Status.COMMIT_CONTINUE
        ):
            answer = self.deliver(Message(Kind.COMMIT_END, self.name(server), at(self.offsets[server])))
            assert answer.status is Status.COMMIT_SUCCESS


TestWalk = Walk.TestCase
TestWalk.settings = settings(
    max_examples=int(os.environ.get("WALK_EXAMPLES", "300")), stateful_step_count=40, deadline=None
)
