"""Resets of replicas in ERROR: whatever happens to what is reset, a copy of the rows stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments.domain.realtime.repair.replica_resets import (
    FIRST_PAUSE_MS,
    LONGEST_PAUSE_MS,
    Copy,
    Segment,
    Tries,
    asks_stream,
    other_copy,
    resettable,
)
from segments.domain.segments.ideal_state import CONSUMING, ERROR, OFFLINE, ONLINE
from segments.domain.segments.segment_metadata import COMMITTING, DONE, IN_PROGRESS, SegmentMetadata

SERVERS = ("a", "b", "c")


def segment(
    status: str,
    view: dict[str, str],
    *,
    url: str | None = None,
    live: str = "abc",
    wanted: str = ONLINE,
    stream: bool | None = None,
) -> Segment:
    fields = {"segment.realtime.status": status} | ({} if url is None else {"segment.download.url": url})
    return Segment(SegmentMetadata("s", fields), dict.fromkeys(SERVERS, wanted), view, set(live), stream)


def test_a_file_in_the_deep_store_lets_every_replica_begin_again() -> None:
    found = segment(DONE, dict.fromkeys(SERVERS, ERROR), url="s3://b/s")
    assert (other_copy(found), resettable(found)) == (Copy.STORE, ["a", "b", "c"])


def test_a_serving_replica_lets_the_others_begin_again() -> None:
    assert resettable(segment(DONE, {"a": ONLINE, "b": ERROR, "c": ERROR}, url="")) == ["b", "c"]


def test_a_serving_replica_that_went_down_does_not_count() -> None:
    assert resettable(segment(DONE, {"a": ONLINE, "b": ERROR, "c": ERROR}, url="", live="bc")) == []


@pytest.mark.parametrize(("stream", "expected"), [(True, ["a", "b", "c"]), (False, []), (None, [])])
def test_consuming_replicas_begin_again_only_where_the_stream_has_their_rows(
    stream: bool | None, expected: list[str]
) -> None:
    found = segment(IN_PROGRESS, dict.fromkeys(SERVERS, ERROR), wanted=CONSUMING, stream=stream)
    assert resettable(found) == expected
    assert asks_stream(found) is (stream is not True)


def test_a_committing_segment_is_not_saved_by_a_replica_that_still_consumes() -> None:
    """It may be behind the end; only one that has it sealed counts."""
    assert resettable(segment(COMMITTING, {"a": CONSUMING, "b": ERROR, "c": ERROR})) == []
    assert resettable(segment(COMMITTING, {"a": ONLINE, "b": ERROR, "c": ERROR})) == ["b", "c"]


def test_what_is_to_be_offline_or_is_down_is_left_alone() -> None:
    assert segment(DONE, dict.fromkeys(SERVERS, ERROR), wanted=OFFLINE, url="x").in_error == []
    assert segment(DONE, dict.fromkeys(SERVERS, ERROR), live="c", url="x").in_error == ["c"]


def test_resets_that_do_not_help_come_less_and_less_often() -> None:
    tries = Tries(0, 0)
    pauses = []
    for _ in range(9):
        tries = tries.after(tries.last_ms + tries.pause_ms)
        pauses.append(tries.pause_ms)
        assert tries.is_due(tries.last_ms + tries.pause_ms)
        assert not tries.is_due(tries.last_ms + tries.pause_ms - 1)
    assert pauses[:4] == [FIRST_PAUSE_MS, 2 * FIRST_PAUSE_MS, 4 * FIRST_PAUSE_MS, 8 * FIRST_PAUSE_MS]
    assert pauses[-1] == LONGEST_PAUSE_MS


@given(
    status=st.sampled_from([IN_PROGRESS, COMMITTING, DONE]),
    url=st.sampled_from([None, "", "s3://b/s"]),
    states=st.tuples(*[st.sampled_from([ONLINE, CONSUMING, ERROR, OFFLINE, None])] * 3),
    wanted=st.tuples(*[st.sampled_from([ONLINE, CONSUMING, OFFLINE])] * 3),
    live=st.sets(st.sampled_from(SERVERS)),
    holders=st.sets(st.sampled_from(SERVERS)),
    stream=st.sampled_from([True, False, None]),
)
def test_some_copy_of_the_rows_is_left_whoever_has_them(
    status: str,
    url: str | None,
    states: tuple[str | None, ...],
    wanted: tuple[str, ...],
    live: set[str],
    holders: set[str],
    stream: bool | None,
) -> None:
    """``holders``: replicas in ERROR that have the rows although they do not serve them. Nobody knows which these are;
    a server that is down and does not come back has nothing.
    """
    fields = {"segment.realtime.status": status} | ({} if url is None else {"segment.download.url": url})
    view = {i: s for i, s in zip(SERVERS, states, strict=True) if s is not None}
    found = Segment(SegmentMetadata("s", fields), dict(zip(SERVERS, wanted, strict=True)), view, live, stream)
    reset = set(resettable(found))
    assert reset <= {i for i in live if view.get(i) == ERROR}

    def copies(begun_again: set[str]) -> set[str]:
        in_store = {"store"} if status == DONE and url else set()
        in_stream = {"stream"} if status == IN_PROGRESS and stream else set()
        whole = {ONLINE, CONSUMING} if status == IN_PROGRESS else {ONLINE}
        serving = {i for i in live if view.get(i) in whole}
        hidden = {i for i in holders & live if view.get(i) == ERROR} - begun_again
        return in_store | in_stream | serving | hidden

    assert not copies(set()) or copies(reset)
