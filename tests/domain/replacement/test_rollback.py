"""Going back over several replacements: what is taken back with an entry, what stays, and what stands in the way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments.domain.replacement import decisions as replacement
from segments.domain.replacement.lineage import PINNED, Entry, Lineage, State
from segments.domain.replacement.rollback import plan_rollback, require_possible
from segments.errors import NotFound, PreconditionFailed, StateConflict

NOW = 9_000


def lineage(*entries: tuple[str, str, str, str], pinned: tuple[str, ...] = ()) -> Lineage:
    """Entries (id, old names, new names, state), one second apart."""
    made = [
        Entry(
            i,
            tuple(old.split()),
            tuple(new.split()),
            State(state),
            1000 * n,
            notes={PINNED: "true"} if i in pinned else {},
        )
        for n, (i, old, new, state) in enumerate(entries, 1)
    ]
    return Lineage("t_OFFLINE", {e.id: e for e in made})


def online(names: str) -> dict[str, bool]:
    return dict.fromkeys(names.split(), True)


CHAIN = (("e1", "a", "b", "COMPLETED"), ("e2", "b", "c", "COMPLETED"), ("e3", "c", "d", "COMPLETED"))


def test_a_chain_goes_back_at_once_newest_first() -> None:
    plan = plan_rollback(lineage(*CHAIN), "e1", online("a b c d"), force=False, now_ms=NOW)
    assert [e.id for e in plan.steps] == ["e3", "e2", "e1"]
    assert (plan.blockers, plan.after.visible("abcd"), set(plan.delete)) == ((), ["a"], {"b", "c", "d"})
    assert {e.timestamp_ms for e in plan.after.entries.values()} == {NOW}


def test_a_snapshot_between_need_not_exist_any_more() -> None:
    plan = plan_rollback(lineage(*CHAIN), "e1", online("a d"), force=False, now_ms=NOW)
    assert (plan.blockers, plan.after.visible("ad"), plan.delete) == ((), ["a"], ("d",))


def test_the_wanted_snapshot_must_be_served() -> None:
    for served in (online("b c d"), {**online("b c d"), "a": False}):
        plan = plan_rollback(lineage(*CHAIN), "e1", served, force=False, now_ms=NOW)
        assert [type(b) for b in plan.blockers] == [PreconditionFailed]
        assert "'a'" in str(plan.blockers[0])
        with pytest.raises(PreconditionFailed):
            require_possible(plan)


def test_a_chain_with_a_lost_link_is_not_gone_back_over_unless_forced() -> None:
    """The entry that replaced c by d is gone: to show a would show d beside it."""
    broken = lineage(*CHAIN[:2])
    plan = plan_rollback(broken, "e1", online("a b d"), force=False, now_ms=NOW)
    assert "'c'" in str(plan.blockers[0])
    assert plan_rollback(broken, "e1", online("a b d"), force=True, now_ms=NOW).blockers == ()


def test_what_an_entry_between_replaced_next_to_the_chain_must_be_served_too() -> None:
    entries = (("e1", "a", "b", "COMPLETED"), ("e2", "b z", "c", "COMPLETED"))
    assert plan_rollback(lineage(*entries), "e1", online("a z c"), force=False, now_ms=NOW).after.visible("azc") == [
        "a",
        "z",
    ]
    assert "'z'" in str(plan_rollback(lineage(*entries), "e1", online("a c"), force=False, now_ms=NOW).blockers[0])


def test_parallel_replacements_stay_as_they_are() -> None:
    entries = (*CHAIN, ("other", "x", "y", "COMPLETED"), ("added", "", "n", "COMPLETED"))
    plan = plan_rollback(lineage(*entries), "e2", online("b d x y n"), force=False, now_ms=NOW)
    assert [e.id for e in plan.steps] == ["e3", "e2"]
    assert plan.after.visible("bdxyn") == ["b", "n", "y"]


def test_a_push_under_way_on_top_is_taken_back_only_by_force() -> None:
    entries = (*CHAIN, ("open", "d", "f", "IN_PROGRESS"))
    plan = plan_rollback(lineage(*entries), "e3", online("c d f"), force=False, now_ms=NOW)
    assert [type(b) for b in plan.blockers] == [StateConflict]
    forced = plan_rollback(lineage(*entries), "e3", online("c d f"), force=True, now_ms=NOW)
    assert ([e.id for e in forced.steps], forced.blockers, forced.after.visible("cdf")) == (["open", "e3"], (), ["c"])


def test_an_entry_that_is_back_already_blocks_and_an_unknown_one_is_named() -> None:
    reverted = lineage(("e1", "a", "b", "REVERTED"))
    assert "already REVERTED" in str(plan_rollback(reverted, "e1", online("a b"), force=True, now_ms=NOW).blockers[0])
    with pytest.raises(NotFound, match="nope"):
        plan_rollback(reverted, "nope", {}, force=False, now_ms=NOW)


def test_pinned_segments_are_hidden_but_stay() -> None:
    plan = plan_rollback(lineage(*CHAIN, pinned=("e3",)), "e1", online("a b c d"), force=False, now_ms=NOW)
    assert (plan.after.visible("abcd"), plan.delete) == (["a"], ("b",))


def test_clocks_that_contradict_the_chain_do_not_change_the_order() -> None:
    entries = {
        "e2": Entry("e2", ("b",), ("c",), State.COMPLETED, 10),
        "e1": Entry("e1", ("a",), ("b",), State.COMPLETED, 99),
    }
    plan = plan_rollback(Lineage("t_OFFLINE", entries), "e1", online("a b c"), force=False, now_ms=NOW)
    assert [e.id for e in plan.steps] == ["e2", "e1"]


@given(st.data())
def test_one_switch_ends_where_single_reverts_newest_first_end(data: st.DataObject) -> None:
    """Random chains over slices of a table: partial, merged and split again; every segment is there."""
    visible = ["s0", "s1", "s2", "s3"]
    ideal = list(visible)
    line = Lineage("t_OFFLINE")
    for n in range(data.draw(st.integers(1, 7))):
        old = data.draw(st.lists(st.sampled_from(visible), unique=True, max_size=3))
        new = [f"n{n}_{i}" for i in range(data.draw(st.integers(0 if old else 1, 2)))]
        entry = Entry(f"e{n}", tuple(old), tuple(new), State.COMPLETED, data.draw(st.integers(1, 5)))
        line, ideal = line.having(entry), ideal + new
        visible = line.visible(ideal) or ["none"]
        if visible == ["none"]:
            break
    target = data.draw(st.sampled_from(sorted(line.entries)))
    served = dict.fromkeys(ideal, True)
    plan = plan_rollback(line, target, served, force=False, now_ms=NOW)
    assert not plan.blockers
    step_by_step = line
    for entry in plan.steps:
        step_by_step = replacement.revert(step_by_step, entry.id, force=False, ideal=served, now_ms=NOW).lineage
    assert [(e.id, e.state, e.timestamp_ms) for e in plan.after.in_order()] == [
        (e.id, e.state, e.timestamp_ms) for e in step_by_step.in_order()
    ]
    assert set(plan.delete).isdisjoint(plan.after.visible(ideal))
