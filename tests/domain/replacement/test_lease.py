"""When the client of an unfinished replacement counts as gone, also when clocks jump."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from segments.domain.replacement.lease import (
    END_FINISHED,
    WATCHED,
    LeaseTerms,
    Verdict,
    given_up_at_ms,
    judge,
    last_sign_ms,
    renewal,
)
from segments.domain.replacement.lineage import HEARTBEAT, LEASE, UPLOAD, Entry, State

TERMS = LeaseTerms(lease_ms=40_000, grace_ms=20_000, period_ms=86_400_000)
T = 1_700_000_000_000


def entry(notes: Mapping[str, str] | None = None, *, state: State = State.IN_PROGRESS, at: int = T) -> Entry:
    return Entry("e", ("a",), ("b",), state, at, notes=dict(notes or {}))


def leased(sign: int, **notes: str) -> Entry:
    return entry({LEASE: "true", HEARTBEAT: str(sign), **notes})


def seen_through(first: Entry, times: list[int]) -> list[Verdict]:
    """The verdicts of one check after the other, each writing down what the judgement requires."""
    verdicts, now = [], first
    for at in times:
        found = judge(now, TERMS, at)
        verdicts.append(found.verdict)
        now = now.noted({WATCHED: found.watch}) if found.watch else now
    return verdicts


def test_the_last_sign_is_the_latest_of_start_heartbeat_upload_and_an_end_given_up() -> None:
    assert last_sign_ms(entry()) == T
    assert last_sign_ms(entry({HEARTBEAT: str(T + 5), UPLOAD: str(T + 9), END_FINISHED: str(T + 7)})) == T + 9
    assert last_sign_ms(entry({UPLOAD: str(T - 5)})) == T
    assert last_sign_ms(entry({UPLOAD: "soon"})) == T


def test_a_client_that_never_sent_a_heartbeat_is_never_judged_here_and_has_the_tables_period_from_its_last_upload() -> (
    None
):
    one = entry({UPLOAD: str(T + 1000)})
    assert judge(one, TERMS, T + 10**10).verdict is Verdict.ALIVE
    assert given_up_at_ms(one, TERMS) == T + 1000 + TERMS.period_ms


@pytest.mark.parametrize("state", [State.COMPLETED, State.REVERTED])
def test_an_entry_that_is_over_needs_no_lease(state: State) -> None:
    one = Entry("e", (), ("b",), state, T, notes={LEASE: "true", HEARTBEAT: str(T)})
    assert judge(one, TERMS, T + 10**9).verdict is Verdict.ALIVE


def test_silence_is_suspected_after_the_lease_and_final_when_it_lasts() -> None:
    looks = [T + 39_000, T + 41_000, T + 46_000, T + 60_000, T + 61_000]
    assert seen_through(leased(T), looks) == ["ALIVE", "SUSPECT", "SUSPECT", "SUSPECT", "LAPSED"]
    assert given_up_at_ms(leased(T), TERMS) == T + 60_000


def test_with_a_check_every_five_seconds_a_dead_client_is_given_up_within_ninety_seconds() -> None:
    looks = list(range(T + 3_000, T + 200_000, 5_000))
    verdicts = seen_through(leased(T), looks)
    assert looks[verdicts.index(Verdict.LAPSED)] - T <= 90_000


def test_a_heartbeat_between_two_polls_takes_the_suspicion_back() -> None:
    suspect = leased(T, **{WATCHED: f"{T}:{T + 41_000}"})
    again = suspect.noted(renewal(suspect, HEARTBEAT, TERMS, T + 45_000) or {})
    assert judge(again, TERMS, T + 62_000).verdict is Verdict.ALIVE
    assert WATCHED not in again.notes


def test_a_clock_that_jumps_ahead_ends_nobodys_work() -> None:
    """The client beats every 10 s; the reaper's clock jumps by an hour: one suspicion, and the next heartbeat clears
    it.
    """
    hour = 3_600_000
    one = leased(T)
    first = judge(one, TERMS, T + hour)
    assert first.verdict is Verdict.SUSPECT
    one = one.noted({WATCHED: first.watch})
    assert judge(one, TERMS, T + hour + 10_000).verdict is Verdict.SUSPECT
    one = one.noted(renewal(one, HEARTBEAT, TERMS, T + hour + 10_000) or {})
    assert judge(one, TERMS, T + hour + 25_000).verdict is Verdict.ALIVE


def test_a_clock_that_is_set_back_keeps_no_dead_client_alive() -> None:
    """The last heartbeat then lies an hour ahead: it is not believed, its silence is counted from the first check."""
    ahead = leased(T + 3_600_000)
    looks = list(range(T, T + 120_000, 5_000))
    verdicts = seen_through(ahead, looks)
    assert looks[verdicts.index(Verdict.LAPSED)] - T == TERMS.lease_ms + TERMS.grace_ms


def test_a_suspicion_from_before_the_clock_was_set_back_starts_over() -> None:
    one = leased(T, **{WATCHED: f"{T}:{T + 500_000}"})
    found = judge(one, TERMS, T + 100_000)
    assert (found.verdict, found.watch) == (Verdict.SUSPECT, f"{T}:{T + 100_000}")


def test_signs_that_follow_closely_are_not_written_down() -> None:
    one = leased(T)
    assert renewal(one, HEARTBEAT, TERMS, T + 4_000) is None
    assert renewal(one, HEARTBEAT, TERMS, T + 5_000) == {HEARTBEAT: str(T + 5_000), LEASE: "true", WATCHED: None}
    assert renewal(one, UPLOAD, TERMS, T + 4_000) is None, "the heartbeat of a moment ago says as much"
    assert renewal(one, UPLOAD, TERMS, T + 5_000) == {UPLOAD: str(T + 5_000), WATCHED: None}
    assert renewal(one, HEARTBEAT, TERMS, T - 60_000) is not None, (
        "the clock was set back: the new time must be written"
    )


def test_an_upload_never_turns_a_client_into_one_that_must_send_heartbeats() -> None:
    one = entry()
    assert LEASE not in one.noted(renewal(one, UPLOAD, TERMS, T + 9_000) or {}).notes
