"""The decisions start, end and revert, case by case."""

from __future__ import annotations

import pytest

from segments.domain.replacement import decisions as replacement
from segments.domain.replacement.decisions import Decision, Replacement
from segments.domain.replacement.lineage import Lineage, State
from segments.errors import InvalidInput, NotFound, PreconditionFailed, StateConflict
from tests.domain.replacement.test_lineage import entry, of

NOW = 5_000


def start(lineage: Lineage, old: str, new: str, ideal: str, *, force: bool = False) -> Decision:
    wanted = Replacement(tuple(old.split()), tuple(new.split()), force)
    return replacement.start(lineage, wanted, entry_id="new", ideal=ideal.split(), now_ms=NOW)


def end(lineage: Lineage, ideal: str, *, body: str = "", refresh: bool = True, name: str = "x") -> Decision:
    return replacement.end(lineage, name, segments_to=body.split(), ideal=ideal.split(), is_refresh=refresh, now_ms=NOW)


def revert(lineage: Lineage, online: str, *, offline: str = "", force: bool = False, name: str = "x") -> Decision:
    ideal = {**dict.fromkeys(online.split(), True), **dict.fromkeys(offline.split(), False)}
    return replacement.revert(lineage, name, force=force, ideal=ideal, now_ms=NOW)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ([], [], "both be empty"),
        (["a", "a"], ["b"], "more than once"),
        (["a"], ["a"], "by the same name"),
        (["a"], ["b,c"], "not allowed"),
    ],
)
def test_a_malformed_request_is_refused(old: list[str], new: list[str], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        replacement.check_request(old, new)


def test_start_adds_one_running_entry_with_the_time_of_now() -> None:
    made = start(of(), "s0", "s5 s6", "s0 s1").entry
    assert (made.state, made.segments_from, made.segments_to, made.timestamp_ms) == (
        State.IN_PROGRESS,
        ("s0",),
        ("s5", "s6"),
        NOW,
    )


@pytest.mark.parametrize("old", ["nope", "hidden", "pending"])
def test_start_refuses_old_segments_that_no_query_sees(old: str) -> None:
    lineage = of(entry("a", "hidden", "shown", "COMPLETED"), entry("b", "", "pending", "IN_PROGRESS"))
    with pytest.raises(NotFound, match=old):
        start(lineage, old, "n", "hidden shown pending")


def test_start_refuses_new_names_that_are_visible() -> None:
    with pytest.raises(StateConflict, match="'s1'"):
        start(of(), "s0", "s1", "s0 s1")


@pytest.mark.parametrize(("old", "new"), [("s1 s2", "t3"), ("", "t2 t4")])
def test_start_refuses_what_a_running_entry_already_names(old: str, new: str) -> None:
    with pytest.raises(StateConflict, match="'x'"):
        start(of(entry("x", "s1 s2", "t2", "IN_PROGRESS")), old, new, "s1 s2")


def test_replacements_that_share_nothing_run_side_by_side() -> None:
    after = start(of(entry("x", "a", "a1", "IN_PROGRESS")), "b", "b1", "a b").lineage
    assert set(after.entries) == {"x", "new"}


def test_force_removes_a_running_entry_whose_new_names_are_all_taken_over() -> None:
    after = start(of(entry("x", "", "s7 s8", "IN_PROGRESS")), "", "s7 s8", "s0", force=True)
    assert set(after.lineage.entries) == {"new"}
    assert after.delete == ()


def test_force_reverts_a_running_entry_and_deletes_what_is_left_of_it() -> None:
    after = start(of(entry("x", "s9 s10", "s11 s12", "IN_PROGRESS")), "s0 s9", "s13", "s0 s9 s10 s11", force=True)
    assert after.lineage.entries["x"].state is State.REVERTED
    assert after.delete == ("s11",)


@pytest.mark.parametrize(("force", "deleted"), [(True, ("b", "c")), (False, ("b",))])
def test_a_name_of_a_reverted_push_can_be_used_again(force: bool, deleted: tuple[str, ...]) -> None:
    begun = start(of(entry("x", "a", "b c", "REVERTED")), "a", "b", "a b c", force=force)
    assert begun.lineage.entries["x"].segments_to == ("c",)
    assert begun.delete == deleted
    done = end(begun.lineage, "a b", name="new")
    assert done.lineage.visible(["a", "b"]) == ["b"]


def test_the_rollback_target_survives_the_start_of_the_third_push() -> None:
    lineage = of(entry("x", "s0", "s1", "COMPLETED"))
    assert start(lineage, "s1", "s2", "s0 s1", force=True).delete == ()


def test_a_swap_back_to_an_old_name_is_refused() -> None:
    with pytest.raises(StateConflict, match="old side of lineage entry 'x'"):
        start(of(entry("x", "s0", "s1", "COMPLETED")), "s1", "s0", "s0 s1")


def test_end_completes_the_entry() -> None:
    done = end(of(entry("x", "a", "b", "IN_PROGRESS")), "a b")
    assert (done.entry.state, done.entry.timestamp_ms, done.delete, done.remove_now) == (State.COMPLETED, NOW, (), ())


def test_ending_twice_changes_nothing() -> None:
    lineage = of(entry("x", "a", "b", "COMPLETED", 7))
    assert end(lineage, "a b") == Decision(lineage, lineage.entries["x"], changed=False)


def test_end_of_a_reverted_entry_is_refused() -> None:
    with pytest.raises(StateConflict):
        end(of(entry("x", "a", "b", "REVERTED")), "a b")


def test_end_before_the_upload_names_what_is_missing() -> None:
    with pytest.raises(PreconditionFailed, match="'s6'"):
        end(of(entry("x", "", "s5 s6", "IN_PROGRESS")), "s5")


def test_end_after_an_old_segment_vanished_points_to_forced_revert() -> None:
    with pytest.raises(PreconditionFailed) as caught:
        end(of(entry("x", "s1", "s2", "IN_PROGRESS")), "s2")
    assert "forceRevert" in caught.value.remedy


def test_a_narrower_end_removes_what_was_uploaded_but_dropped() -> None:
    done = end(of(entry("x", "a", "b c d", "IN_PROGRESS")), "a b c", body="b")
    assert done.entry.segments_to == ("b",)
    assert done.remove_now == ("c",)


def test_an_end_with_a_foreign_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'z'"):
        end(of(entry("x", "a", "b", "IN_PROGRESS")), "a b z", body="z")


@pytest.mark.parametrize(
    ("refresh", "forced", "deleted"), [(True, True, ("s0",)), (False, True, ()), (True, False, ())]
)
def test_the_snapshot_before_the_last_goes_at_the_end_of_a_forced_refresh_push(
    refresh: bool, forced: bool, deleted: tuple[str]
) -> None:
    notes = {"forceCleanup": "true"} if forced else {}
    lineage = of(entry("w", "s0", "s1", "COMPLETED"), entry("x", "s1", "s2", "IN_PROGRESS", notes=notes))
    assert end(lineage, "s0 s1 s2", refresh=refresh).delete == deleted


def test_revert_goes_back_and_deletes_the_new_side() -> None:
    done = revert(of(entry("x", "a", "b", "COMPLETED")), "a b")
    assert (done.entry.state, done.delete) == (State.REVERTED, ("b",))


def test_a_running_push_is_reverted_only_by_force() -> None:
    lineage = of(entry("x", "s1", "m0", "IN_PROGRESS"))
    with pytest.raises(StateConflict, match="IN_PROGRESS"):
        revert(lineage, "s1 m0")
    assert revert(lineage, "m0", force=True).delete == ("m0",)


@pytest.mark.parametrize("state", ["IN_PROGRESS", "COMPLETED"])
def test_only_the_newest_link_of_a_chain_goes_back(state: str) -> None:
    lineage = of(entry("x", "s0", "s3", "COMPLETED"), entry("y", "s3", "s6", state))
    for force in (False, True):
        with pytest.raises(StateConflict, match="'y'"):
            revert(lineage, "s0 s3 s6", force=force)


def test_a_reverted_later_link_does_not_block() -> None:
    lineage = of(entry("x", "a", "b", "COMPLETED"), entry("y", "b", "c", "REVERTED"))
    assert revert(lineage, "a b").entry.state is State.REVERTED


@pytest.mark.parametrize(("online", "offline"), [("s3 s9", ""), ("s3 s9", "s4")])
def test_revert_needs_every_old_segment_served_even_by_force(online: str, offline: str) -> None:
    lineage = of(entry("x", "s3 s4", "s9", "COMPLETED"))
    with pytest.raises(PreconditionFailed, match="'s4'"):
        revert(lineage, online, offline=offline, force=True)


def test_revert_of_a_first_push_empties_the_table() -> None:
    done = revert(of(entry("x", "", "s1", "COMPLETED")), "s1")
    assert done.delete == ("s1",)
    assert done.lineage.visible(["s1"]) == []


def test_reverting_twice_is_refused() -> None:
    with pytest.raises(StateConflict, match="already"):
        revert(of(entry("x", "a", "b", "REVERTED")), "a b", force=True)


def test_a_revert_that_would_show_old_and_new_rows_together_needs_force() -> None:
    """Another program dropped the entry that replaced b by c: Pinot would show a and c together."""
    lineage, ideal = of(entry("x", "a", "b", "COMPLETED")), {"a": True, "c": True}
    assert replacement.lost_segments(lineage, lineage.entry("x"), ideal) == ["b"]
    with pytest.raises(StateConflict, match="'c', which came later"):
        replacement.revert(lineage, "x", force=False, ideal=ideal, now_ms=NOW, strangers=["c"])
    assert replacement.revert(lineage, "x", force=True, ideal=ideal, now_ms=NOW, strangers=["c"]).changed
    assert revert(lineage, "a c").changed  # nothing came later: b was deleted by hand
    replaced = of(entry("x", "a", "b", "COMPLETED"), entry("y", "b", "c", "COMPLETED"))
    assert replacement.lost_segments(replaced, replaced.entry("x"), ideal) == []
