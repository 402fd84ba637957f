"""When an unfinished replacement counts as given up: the lease of clients that send heartbeats, Pinot's period for all
others (rule `entry-lease`).

A client that ever sent a heartbeat must be heard of (heartbeat or upload) every ``lease_ms``. Silence alone does not
end it: the same silence has to be seen twice, ``grace_ms`` apart, so that a clock that jumps, or differs between two
machines, ends nobody's work. Clients that never sent one keep lineageEntryCleanupRetentionPeriod, counted from their
last upload (rule `entry-lease`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from segments.domain.replacement.lineage import END_REQUESTED, HEARTBEAT, LEASE, UPLOAD, Entry, State

#: Notes: since when which silence is watched (``<last sign>:<since>``), and when the last asynchronous end gave up.
WATCHED: Final = "lease.watched"
END_FINISHED: Final = "end.finished"
_SIGNS: Final = (HEARTBEAT, UPLOAD, END_REQUESTED, END_FINISHED)
_MOST_OFTEN_MS: Final = 5_000


@dataclass(frozen=True)
class LeaseTerms:
    """``lease_ms``: silence that makes a client suspect; ``grace_ms``: how long that must last; ``period_ms``: without
    a lease.
    """

    lease_ms: int
    grace_ms: int
    period_ms: int

    @property
    def renew_every_ms(self) -> int:
        """Renewals that come faster than this are not written down."""
        return min(_MOST_OFTEN_MS, self.lease_ms // 8)


class Verdict(StrEnum):
    """What silence means."""

    ALIVE = "ALIVE"
    SUSPECT = "SUSPECT"
    LAPSED = "LAPSED"


@dataclass(frozen=True)
class Judgement:
    """``watch`` is the note to write down so that the same silence is known at the next pass; None: it stands already,
    or is not needed.
    """

    verdict: Verdict
    watch: str | None = None


def is_leased(entry: Entry) -> bool:
    """Did its client ever send a heartbeat?"""
    return entry.notes.get(LEASE) == "true"


def last_sign_ms(entry: Entry) -> int:
    """When its client was heard of last: its start, a heartbeat, an upload, an end requested or given up."""
    return max(entry.timestamp_ms, *(_number(entry.notes.get(name)) for name in _SIGNS))


def given_up_at_ms(entry: Entry, terms: LeaseTerms) -> int:
    """When it will be given up unless its client is heard of before."""
    return last_sign_ms(entry) + (terms.lease_ms + terms.grace_ms if is_leased(entry) else terms.period_ms)


def judge(entry: Entry, terms: LeaseTerms, now_ms: int) -> Judgement:
    """Is the client of a leased IN_PROGRESS entry gone? Entries without lease, and those in other states, are always
    ALIVE here.

    A sign that lies further ahead than a lease was made before the clock was set back: it says nothing, so the silence
    is counted from the first pass over it.
    """
    if entry.state is not State.IN_PROGRESS or not is_leased(entry):
        return Judgement(Verdict.ALIVE)
    sign = last_sign_ms(entry)
    is_ahead = sign - now_ms > terms.lease_ms
    if not is_ahead and now_ms - sign <= terms.lease_ms:
        return Judgement(Verdict.ALIVE)
    seen, _, since_text = entry.notes.get(WATCHED, "").partition(":")
    since = _number(since_text)
    if seen != str(sign) or since > now_ms:
        return Judgement(Verdict.SUSPECT, f"{sign}:{now_ms}")
    needed = terms.grace_ms + (terms.lease_ms if is_ahead else 0)
    return Judgement(Verdict.LAPSED if now_ms - since >= needed else Verdict.SUSPECT)


def renewal(entry: Entry, note: str, terms: LeaseTerms, now_ms: int) -> Mapping[str, str | None] | None:
    """The notes that a sign of life writes (``note``: HEARTBEAT or UPLOAD); None when it is no news.

    An upload right after any other sign is not written down, so that a small push costs no write of the lineage beyond
    its own.
    """
    last = _number(entry.notes.get(note)) if note == HEARTBEAT else last_sign_ms(entry)
    if 0 <= now_ms - last < terms.renew_every_ms and (note != HEARTBEAT or is_leased(entry)):
        return None
    return {note: str(now_ms), **({LEASE: "true"} if note == HEARTBEAT else {}), WATCHED: None}


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0
