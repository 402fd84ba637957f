"""Which segments of an upsert table are read behind others, because the server that has all of them reports fewer."""

from __future__ import annotations

import pytest

from segments.dataplane.broker.unreported import read_behind

NAMES = [f"r__0__{n}__20260801T1000Z" for n in range(4)]
IDEAL = {s: dict.fromkeys("AN", "CONSUMING" if s == NAMES[3] else "ONLINE") for s in NAMES}


def found(view: dict[str, str], *, errors: dict[str, str] | None = None, ideal: dict = IDEAL) -> list[int]:  # type: ignore[type-arg]
    """Sequences of the segments that are read behind others; ``view`` gives each segment's servers, by sequence. What A
    serves it consumes, N has files.
    """
    holders = {s: list(view.get(str(n), "")) for n, s in enumerate(NAMES)}
    states = {s: {i: "CONSUMING" if i == "A" else "ONLINE" for i in servers} for s, servers in holders.items()}
    for number, servers in (errors or {}).items():
        states[NAMES[int(number)]] |= dict.fromkeys(servers, "ERROR")
    growing = {NAMES[2], NAMES[3]}
    behind = read_behind(NAMES, growing, holders, ideal, states)
    left = [s for s in NAMES if s not in behind.segments]
    assert behind.readers == ({left[-1]: {"A"}} if behind.segments else {})
    return [NAMES.index(s) for s in sorted(behind.segments)]


@pytest.mark.parametrize(
    ("view", "wanted"),
    [
        pytest.param({"0": "AN", "1": "A", "2": "A", "3": "AN"}, [], id="a server has all"),
        pytest.param({"0": "AN", "1": "AN", "2": "A", "3": "N"}, [3], id="the newest is reported by another only"),
        pytest.param({"0": "AN", "1": "A", "2": "N", "3": "N"}, [2, 3], id="the newest two are"),
        pytest.param({"0": "AN", "1": "N", "2": "A", "3": "A"}, [], id="what is missing does not grow"),
        pytest.param({"0": "A", "1": "", "2": "A", "3": "A"}, [], id="an older one is served by nobody"),
    ],
)
def test_the_newest_growing_ones_are_read_behind_the_others_of_a_server_that_has_these(
    view: dict[str, str], wanted: list[int]
) -> None:
    assert found(view) == wanted


def test_no_rows_are_left_out_of_a_server_that_is_not_on_its_way_to_have_them() -> None:
    view = {"0": "AN", "1": "AN", "2": "A", "3": "N"}
    assert found(view, errors={"3": "A"}) == []
    assert found(view, ideal={**IDEAL, NAMES[3]: {"N": "CONSUMING"}}) == []
