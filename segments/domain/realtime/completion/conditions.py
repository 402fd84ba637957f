"""What rules of the completion protocol ask of a message that has come in, and what they change."""

from __future__ import annotations

from dataclasses import dataclass, replace

from segments.domain.realtime.completion.machine import (
    CAP_MS,
    DEFAULT_EXTENSION_S,
    MOST_QUESTIONS,
    NOTIFY_MS,
    PICK_MS,
    Machine,
    State,
)
from segments.domain.realtime.completion.message import END_OF_PARTITION, ROW_LIMIT, Message
from segments.domain.realtime.streams.stream_offset import Offset


@dataclass(frozen=True)
class Seen:
    """What a rule decides from: the machine with this report already entered, the message, the time."""

    machine: Machine
    message: Message
    now_ms: int

    @property
    def offset(self) -> Offset:
        """The reported offset."""
        assert self.message.offset is not None  # checked by ``step``
        return self.message.offset

    @property
    def winning(self) -> Offset:
        """The winning offset; only where there is one."""
        assert self.machine.winning is not None
        return self.machine.winning

    @property
    def is_winner(self) -> bool:
        """Is the message from the committer?"""
        return self.machine.winner == self.message.instance


# ---- conditions
def always(seen: Seen) -> bool:
    """Fits every message that no rule above fitted."""
    return True


def is_shortcut(seen: Seen) -> bool:
    """The first to report reached the row limit or the partition's end: no need to hear the others."""
    return seen.message.reason in (ROW_LIMIT, END_OF_PARTITION) and len(seen.machine.offsets) == 1


def is_time_to_pick(seen: Seen) -> bool:
    """All replicas reported, or the window is over."""
    return seen.now_ms > seen.machine.start_ms + PICK_MS or seen.machine.has_heard_all(seen.message.awaited)


def picks_reporter(seen: Seen) -> bool:
    """Time to pick, and nobody is ahead of who reports."""
    return is_time_to_pick(seen) and seen.offset == max(seen.machine.offsets.values())


def is_tired(seen: Seen) -> bool:
    """The committer asked again and again: it cannot build or upload (its disk is full, say). Who stands at the same
    offset may try.
    """
    return seen.machine.asked_again >= MOST_QUESTIONS and seen.offset == seen.winning


def is_notify_over(seen: Seen) -> bool:
    """The chosen replica did not come back in time."""
    return seen.now_ms > seen.machine.start_ms + NOTIFY_MS


def is_late(seen: Seen) -> bool:
    """The committer's time is over."""
    return seen.now_ms > seen.machine.deadline_ms


def is_past_cap(seen: Seen) -> bool:
    """No commit may take longer in all."""
    return seen.now_ms > seen.machine.start_ms + CAP_MS


def is_winner_elsewhere(seen: Seen) -> bool:
    """The committer lost rows or went past the offset it won with: it restarted."""
    return seen.is_winner and seen.offset != seen.winning


def is_committer(seen: Seen) -> bool:
    """The message is from the committer, at the winning offset."""
    return seen.is_winner and seen.offset == seen.winning and seen.message.instance not in seen.machine.excluded


def is_excluded(seen: Seen) -> bool:
    """A replica that reported its stop cannot commit."""
    return seen.message.instance in seen.machine.excluded


def is_other(seen: Seen) -> bool:
    """The message is not from the committer."""
    return not seen.is_winner


def is_winner(seen: Seen) -> bool:
    """The message is from the committer."""
    return seen.is_winner


def is_ahead_or_level(seen: Seen) -> bool:
    """At the winning offset or past it."""
    return seen.offset >= seen.winning


def is_level(seen: Seen) -> bool:
    """At the winning offset."""
    return seen.offset == seen.winning


def is_behind(seen: Seen) -> bool:
    """Short of the winning offset."""
    return seen.offset < seen.winning


def extends_past_cap(seen: Seen) -> bool:
    """Asks for more than any commit gets."""
    return _extended_to(seen) > seen.machine.start_ms + CAP_MS


def has_no_committer(seen: Seen) -> bool:
    """A replica at the fixed end, and nobody who commits: the committer is unknown, gone or late."""
    return is_level(seen) and (seen.machine.winner is None or is_late(seen))


def is_crowded(seen: Seen) -> bool:
    """Several segments of the partition are being committed: the next one waits."""
    return seen.message.is_crowded


def is_crowded_committer(seen: Seen) -> bool:
    """The committer wants to start while the partition has too many commits under way."""
    return is_crowded(seen) and is_committer(seen)


def is_repeated_end(seen: Seen) -> bool:
    """The commit end of what is committed: its answer was lost (rule `repeats-are-harmless`)."""
    return seen.message.is_same_content and seen.offset == seen.winning


# ---- changes
def stay(seen: Seen) -> Machine:
    """Nothing changes but what was reported."""
    return seen.machine


def ask_again(seen: Seen) -> Machine:
    """The committer did not get on; its time stays as it is."""
    return replace(seen.machine, asked_again=seen.machine.asked_again + 1)


def hold(seen: Seen) -> Machine:
    """Wait for more reports."""
    return replace(seen.machine, state=State.HOLDING)


def end(seen: Seen) -> None:
    """The round is over without a commit."""


def commit_here(seen: Seen) -> Machine:
    """Who reports becomes the committer and gets that answer."""
    return _elected(seen, seen.message.instance, State.COMMITTER_NOTIFIED)


def choose_ahead(seen: Seen) -> Machine:
    """One that is ahead becomes the committer, but has to come back to hear it; one that is alive is preferred."""
    offsets, sessions = seen.machine.offsets, seen.machine.sessions
    best = max(offsets.values())
    ahead = sorted((not sessions.get(i), i) for i, o in offsets.items() if o == best)
    return _elected(seen, ahead[0][1], State.COMMITTER_DECIDED)


def start_upload(seen: Seen) -> Machine:
    """The committer goes on: its time starts again, for the upload, or for build and upload."""
    return replace(_leased(seen), state=State.COMMITTER_UPLOADING)


def take_over(seen: Seen) -> Machine:
    """Who reports at the fixed end commits from now on."""
    machine = replace(seen.machine, winner=seen.message.instance, start_ms=seen.now_ms, deadline_ms=0, asked_again=0)
    return _leased(replace(seen, machine=machine))


def forget_winner(seen: Seen) -> Machine:
    """The committer of a commit that has started is gone: its end stays, the next replica there goes on with it."""
    machine, gone = seen.machine, seen.message.instance
    others = {i: o for i, o in machine.offsets.items() if i != gone}
    return replace(machine, offsets=others, excluded=machine.excluded | {gone}, winner=None, asked_again=0)


def renew(seen: Seen) -> Machine:
    """The committer is alive: it gets its time again."""
    return replace(_leased(seen), asked_again=seen.machine.asked_again + 1)


def extend(seen: Seen) -> Machine:
    """The committer's time, longer."""
    return replace(seen.machine, deadline_ms=max(seen.machine.deadline_ms, _extended_to(seen)))


def replace_winner(seen: Seen) -> Machine:
    """The committer is gone: the others choose again."""
    machine, gone = seen.machine, seen.message.instance
    return replace(
        machine,
        state=State.HOLDING,
        start_ms=seen.now_ms,
        offsets={i: o for i, o in machine.offsets.items() if i != gone},
        excluded=machine.excluded | {gone},
        winner=None,
        winning=None,
        deadline_ms=0,
        asked_again=0,
    )


def _elected(seen: Seen, instance: str, state: State) -> Machine:
    machine = seen.machine
    deadline = machine.start_ms + machine.budget_ms
    if seen.now_ms > machine.start_ms + NOTIFY_MS:  # chosen late in the round: the time counts from now
        deadline = min(seen.now_ms + machine.lease_ms, machine.start_ms + CAP_MS)
    return replace(
        machine, state=state, winner=instance, winning=machine.offsets[instance], deadline_ms=deadline, asked_again=0
    )


def _leased(seen: Seen) -> Machine:
    machine = seen.machine
    until = min(seen.now_ms + machine.lease_ms, machine.start_ms + CAP_MS)
    return replace(machine, deadline_ms=max(machine.deadline_ms, until))


def _extended_to(seen: Seen) -> int:
    seconds = seen.message.extra_s if seen.message.extra_s > 0 else DEFAULT_EXTENSION_S
    return seen.now_ms + seconds * 1000
