"""What comes back when a rollback is undone."""

from __future__ import annotations

import pytest

from segments.domain.replacement.lineage import REVERTED_FROM, ROLLBACK, Entry, Lineage, State
from segments.domain.replacement.undo.plan import plan_undo


def reverted(entry_id: str, old: str, new: str, at_ms: int) -> Entry:
    """One step of the rollback to entry ``first``."""
    notes = {REVERTED_FROM: State.COMPLETED.value, ROLLBACK: "first"}
    return Entry(entry_id, (old,), (new,), State.REVERTED, at_ms, False, notes)


@pytest.mark.parametrize("times", [(5, 5), (6, 5)], ids=["in one switch", "one after the other, newest first"])
@pytest.mark.parametrize("newer", ["a-second", "z-second"])
def test_only_what_queries_saw_before_a_rollback_over_several_steps_comes_back(
    times: tuple[int, int], newer: str
) -> None:
    first, second = reverted("first", "a", "b", times[0]), reverted(newer, "b", "c", times[1])
    lineage = Lineage("t_OFFLINE", {e.id: e for e in (first, second)})
    for entry in (first, second):
        plan = plan_undo(lineage, {}, entry.id, ["a"])
        assert (plan.back, plan.gone, plan.blockers) == (("c",), ("a",), ())
