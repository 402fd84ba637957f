"""What a mirror does next: changes first, gathered; reads of everything in pieces between them; nothing starves."""

from __future__ import annotations

import pytest

from segments.mirror import pending
from segments.mirror.pending import Dirty, Pending, Work, pieces_of
from segments.store import paths

PREFIXES = (paths.TABLE_CONFIGS, paths.SCHEMAS, paths.SEGMENTS, paths.IDEAL_STATES)
TABLE = "t_OFFLINE"


@pytest.fixture
def waiting() -> Pending:
    """After the first read of everything."""
    made = Pending(PREFIXES, 300.0, 0.02)
    assert made.next(wait=False).everything
    return made


def test_changes_of_a_moment_are_one_work_and_say_what_is_to_be_read(waiting: Pending) -> None:
    for path in (
        paths.ideal_state(TABLE),
        paths.segment(TABLE, "a"),
        paths.segment(TABLE, "b"),
        paths.schema("t"),
        paths.segments("u_OFFLINE"),
    ):
        waiting.mark(path)
    waiting.mark(f"{paths.IDEAL_STATES}/brokerResource")
    work = waiting.next(wait=True)
    assert work.tables == {
        TABLE: Dirty({paths.IDEAL_STATES, paths.SCHEMAS}, {"a", "b"}),
        "t_REALTIME": Dirty({paths.SCHEMAS}),
        "u_OFFLINE": Dirty(),
    }
    assert not work.everything


def test_a_full_read_goes_on_between_changes_and_does_not_starve(
    waiting: Pending, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting.sweep(pieces_of(TABLE, {paths.IDEAL_STATES}, ["a", "b", "c"], 2))
    assert waiting.next(wait=True).tables == {TABLE: Dirty({paths.IDEAL_STATES})}
    waiting.mark(paths.ideal_state("u_OFFLINE"))
    assert set(waiting.next(wait=True).tables) == {"u_OFFLINE"}, "a change comes before the rest of the look"
    monkeypatch.setattr(pending, "_PIECE_S", -1.0)
    waiting.mark(paths.ideal_state("u_OFFLINE"))
    assert waiting.next(wait=True).tables == {
        "u_OFFLINE": Dirty({paths.IDEAL_STATES}),
        TABLE: Dirty(segments={"a", "b"}),
    }
    assert waiting.next(wait=True).tables == {TABLE: Dirty(segments={"c"})}


def test_it_is_time_for_a_full_read_also_where_changes_never_end(
    waiting: Pending, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_sweep_s", 0.0)
    waiting.mark(paths.ideal_state(TABLE))
    work = waiting.next(wait=True)
    assert work.is_sweep
    assert set(work.tables) == {TABLE}


def test_work_that_failed_is_done_again_with_what_came_since(waiting: Pending) -> None:
    waiting.mark(paths.segment(TABLE, "a"))
    work = waiting.next(wait=True)
    waiting.mark(paths.segment(TABLE, "b"))
    waiting.again(work, 0.0)
    assert waiting.next(wait=True).tables == {TABLE: Dirty(segments={"a", "b"})}
    waiting.again(Work(everything=True), 0.0)
    assert waiting.next(wait=True).everything
