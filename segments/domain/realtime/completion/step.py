"""One message into the machine: the answer, the machine afterwards, and what has to be done before the answer is given.
Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from segments.domain.realtime.completion.conditions import Seen
from segments.domain.realtime.completion.machine import PAUSELESS, Machine, State
from segments.domain.realtime.completion.message import END_OF_PARTITION, Action, Answer, Kind, Message, Status
from segments.domain.realtime.completion.rule_tables import TABLES
from segments.domain.realtime.completion.rules import Rule
from segments.errors import InvalidInput

_WITH_OFFSET: Final = (Kind.CONSUMED, Kind.COMMIT_START, Kind.COMMIT_END, Kind.EXTEND)


@dataclass(frozen=True)
class Step:
    """``machine`` None: the round is over. With Action.COMMIT it is over only when the commit is written.

    ``has_rows_behind``: a replica has rows behind the segment's end. ``remember_ms``: this commit took longer than its
    table's commits get; later rounds should get as much.
    """

    machine: Machine | None
    answer: Answer
    action: Action = Action.NOTHING
    has_rows_behind: bool = False
    remember_ms: int | None = None


def step(machine: Machine, message: Message, now_ms: int) -> Step:
    """The first rule that fits decides. Raises InvalidInput when the message lacks the offset it must have."""
    if message.kind in _WITH_OFFSET and message.offset is None:
        raise InvalidInput(f"{message.kind.value} needs an offset.")
    seen = Seen(_entered(machine.moved(now_ms), message), message, now_ms)
    rule = next(r for r in TABLES[machine.kind][message.kind][seen.machine.state] if r.when(seen))
    after = rule.then(seen)
    return Step(
        after, _answer(rule, seen, after), rule.action, seen.machine.has_rows_behind, remember_ms=_longer(rule, seen)
    )


def may_start(machine: Machine, message: Message) -> bool:
    """May the answer depend on how many segments of the partition are being committed?"""
    return (
        machine.kind == PAUSELESS
        and not machine.has_started
        and message.kind in (Kind.CONSUMED, Kind.COMMIT_START)
        and machine.state is not State.COMMITTED
    )


def _entered(machine: Machine, message: Message) -> Machine:
    """The machine knowing this report."""
    if message.kind is Kind.CONSUMED and message.offset is not None:
        ended = message.offset if message.reason == END_OF_PARTITION else machine.ended_at
        return replace(
            machine,
            offsets={**machine.offsets, message.instance: message.offset},
            sessions={**machine.sessions, message.instance: message.session},
            excluded=machine.excluded - {message.instance},
            ended_at=ended,
            reading_on=_reading_on(machine, message),
        )
    if message.kind in (Kind.COMMIT_START, Kind.COMMIT_END):
        return replace(machine, reading_on=_reading_on(machine, message))
    if message.kind is Kind.STOPPED:
        others = {i: o for i, o in machine.offsets.items() if i != message.instance}
        return replace(machine, offsets=others, excluded=machine.excluded | {message.instance})
    return machine


def _reading_on(machine: Machine, message: Message) -> frozenset[str]:
    others = machine.reading_on - {message.instance}
    return others | {message.instance} if message.has_read_on else others


def _answer(rule: Rule, seen: Seen, after: Machine | None) -> Answer:
    text = None
    if rule.tells == "winning" and after is not None and after.winning is not None:
        text = after.winning.text
    elif rule.tells == "reported" and seen.message.offset is not None:
        text = seen.message.offset.text
    seconds = after.build_time_s if rule.status is Status.COMMIT and after is not None else -1
    return Answer(rule.status, text, seconds)


def _longer(rule: Rule, seen: Seen) -> int | None:
    if rule.status is not Status.COMMIT_CONTINUE:
        return None
    took = seen.now_ms - seen.machine.start_ms
    return took if took > seen.machine.budget_ms else None
