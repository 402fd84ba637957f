"""Completion cases as text: ``t message server offset [reason] -> STATUS [offset] | state``, played on the pure
machine.

Messages are parted by line ends or semicolons.

Messages: C segmentConsumed, S segmentCommitStart, E segmentCommitEndWithMetadata, L extendBuildTime (extra seconds in
brackets), X segmentStoppedConsuming, B segmentBuildDeterministicFailure, D the server's session is over. Times in
seconds. ``gone`` = no round.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from segments.domain.realtime.completion import (
    STANDARD,
    Action,
    Answer,
    Kind,
    Machine,
    Message,
    State,
    Status,
    committed_machine,
    committing_machine,
    from_record,
    open_machine,
    step,
)
from segments.domain.realtime.streams.stream_offset import Offset, parse_offset

_LINE = re.compile(
    r"(?P<t>[\d.]+) (?P<kind>[CSELXBD]) (?P<server>S\d)(?: (?P<offset>\d+))?(?: \[(?P<extra>\d+)\])?(?: "
    r"(?P<reason>[A-Za-z]+))?"
    r"(?: -> (?P<status>[A-Z_]+)(?: (?P<told>\d+))?)?(?: \| (?P<state>\w+))?"
)
_KINDS = {
    "C": Kind.CONSUMED, "S": Kind.COMMIT_START, "E": Kind.COMMIT_END, "L": Kind.EXTEND, "X": Kind.STOPPED,
    "B": Kind.BUILD_FAILED, "D": Kind.LOST,
}  # fmt: skip
_SHORT = {
    "HOLDING": State.HOLDING, "DECIDED": State.COMMITTER_DECIDED, "NOTIFIED": State.COMMITTER_NOTIFIED,
    "UPLOADING": State.COMMITTER_UPLOADING, "PARTIAL": State.PARTIAL_CONSUMING,
}  # fmt: skip

#: Three replicas at 20, 40 and 30: the second wins (the prefix of many cases).
P40 = """5 C S1 20 -> HOLD 20; 6 C S2 40 -> HOLD 40; 7 C S3 30 -> CATCH_UP 40 | DECIDED
8 C S1 20 -> CATCH_UP 40; 9 C S2 40 -> COMMIT 40 | NOTIFIED
"""


def parse_cases(text: str) -> dict[str, str]:
    """``# name`` begins a case, the line ``P40`` stands for the prefix."""
    cases: dict[str, list[str]] = {}
    for line in filter(None, (one.strip() for one in text.splitlines())):
        if line.startswith("# "):
            script = cases.setdefault(line[2:], [])
        else:
            script.append(P40 if line == "P40" else line)
    return {name: "\n".join(lines) for name, lines in cases.items()}


def at(offset: int) -> Offset:
    return parse_offset("kafka", str(offset))


@dataclass
class Stage:
    """One segment of ``replicas`` servers. The machine is written and read again after every step, as
    the store does.

    ``kind``: of the rounds that open; ``started``: the end that is on record since a commit's start.
    """

    replicas: int = 3
    commit_timeout_s: int = 120
    remembered_ms: int = 0
    machine: Machine | None = None
    committed: Offset | None = None
    kind: str = STANDARD
    started: Offset | None = None
    is_crowded: bool = False
    actions: list[Action] = field(default_factory=list)

    def say(self, message: Message, now_ms: int) -> Answer:
        """Deliver; a commit that is requested succeeds."""
        message = replace(message, is_crowded=self.is_crowded)
        done = step(self._met(message, now_ms), message, now_ms)
        self.actions.append(done.action)
        self.machine = from_record(done.machine.to_record("s")) if done.machine is not None else None
        assert self.machine == done.machine
        if done.action is Action.START:
            assert self.started in (None, message.offset), "started at two ends"
            self.started = message.offset
        if done.action is Action.COMMIT:
            assert self.committed is None, "committed twice"
            self.committed = message.offset
        if done.remember_ms is not None:
            self.remembered_ms = max(self.remembered_ms, done.remember_ms)
        if self.committed is not None:
            self.machine = None
        return done.answer

    def _met(self, message: Message, now_ms: int) -> Machine:
        """The machine that the message meets: of the round, of a new one, or of what the segment's record says."""
        timeout_ms = self.commit_timeout_s * 1000
        if self.committed is not None:
            return committed_machine("kafka", self.committed, now_ms)
        if self.machine is not None:
            return self.machine
        if self.started is not None:
            return committing_machine("kafka", self.replicas, self.started, now_ms, commit_timeout_ms=timeout_ms)
        return open_machine(
            "kafka",
            self.replicas,
            now_ms,
            commit_timeout_ms=timeout_ms,
            remembered_ms=self.remembered_ms,
            is_first_stop=message.kind is Kind.STOPPED,
            kind=self.kind,
        )

    def play(self, script: str) -> Stage:
        """Every line in turn; what it names after the arrow and the bar must hold."""
        for line in filter(None, (text.strip() for text in re.split(r"[\n;]", script))):
            found = _LINE.fullmatch(line)
            assert found, f"no line of a script: {line}"
            offset = at(int(found["offset"])) if found["offset"] else None
            message = Message(
                _KINDS[found["kind"]], found["server"], offset, found["reason"], int(found["extra"] or 0), "session"
            )
            answer = self.say(message, round(float(found["t"]) * 1000))
            if found["status"]:
                assert answer.status == Status(found["status"]), f"{line}: {answer}"
            if found["told"]:
                assert answer.offset == found["told"], f"{line}: {answer}"
            if found["state"]:
                expected = _SHORT.get(found["state"])
                assert (self.machine.state if self.machine else None) == expected, f"{line}: {self.machine}"
        return self
