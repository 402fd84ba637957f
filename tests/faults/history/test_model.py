"""The model of a table's history itself, where a walk once showed it to be wrong."""

from __future__ import annotations

from tests.faults.history.model import Model, Push


def test_an_old_side_that_is_refreshed_while_its_replacement_runs_comes_back_refreshed() -> None:
    model = Model(keys={1: "k", 2: "k", 3: "k"})
    model.move_to({"s": 1}, now=0)
    model.pushes["e"] = Push("e", {"s": 1}, {"new": 2})
    model.move_to({"s": 3}, now=1)
    model.move_to(model.replaced(model.pushes["e"].old, model.pushes["e"].new), now=2)
    assert model.seen == {"new": 2}
    assert model.taken_back(["e"]) == {"s": 3}
