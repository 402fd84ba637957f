"""What counts as a stall of visible rows."""

from __future__ import annotations

import pytest

from bench.stalls.visible_rows import Seen, figures


def seen_of(*moments: tuple[float, int]) -> Seen:
    """Queries that saw these rows of one partition at these seconds."""
    seen = Seen()
    for now, row in moments:
        seen.add({0: row}, now)
    return seen


def is_end(low: int, high: int) -> bool:
    return low // 100 < high // 100


def test_a_stall_lies_over_the_end_of_a_segment_and_the_longest_may_follow_it() -> None:
    seen = seen_of((0.0, 80), (0.5, 90), (0.6, 110), (0.7, 120), (1.0, 130), (2.5, 140), (2.6, 150))
    assert seen.steps(is_end) == pytest.approx([0.1])
    assert seen.longest_after(is_end, 0.3) == pytest.approx([0.3])  # the one that began before is not of it
    assert seen.longest_after(is_end, 1.0) == pytest.approx([1.5])
    assert seen.longest == pytest.approx(1.5)


def test_rows_that_go_back_are_counted_and_rows_that_stand_still_make_one_step() -> None:
    seen = seen_of((0.0, 90), (0.1, 90), (0.2, 90), (0.3, 110), (0.4, 100))
    assert (seen.backwards, seen.steps(is_end)) == (1, pytest.approx([0.3]))
    assert figures("a commit", "slower", seen)[-1] == "  visible rows went back 1 times"
