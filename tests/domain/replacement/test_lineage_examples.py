"""The cases of the fact sheet on lineage, by their numbers: what Pinot does, or, where we differ on purpose, what we do
and why.

A to G here, as far as a decision is enough; REST forms are in ``tests/api``, brokers in ``tests/dataplane``, files
beside uploads. Cases with an even number stand between two of the sheet.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from segments.domain.replacement import decisions as replacement
from segments.domain.replacement.decisions import Decision, Replacement
from segments.domain.replacement.lineage import Entry, Lineage, State
from segments.domain.tables.table_config import TableConfig, parse_table_config
from segments.errors import InvalidInput, NotFound, PreconditionFailed, Rejected, StateConflict
from tests.domain.replacement.test_lineage import of

NOW = 1_700_000_000_000
HOUR = 3_600_000


def parse(text: str) -> Lineage:
    """``A: s0 s1 > s3 COMPLETED; B: ...`` with an optional age in milliseconds at the end (0)."""
    entries = []
    for part in filter(None, (p.strip() for p in text.split(";"))):
        name, _, rest = part.partition(":")
        old, _, tail = rest.partition(">")
        *new, state = (words := tail.split())[: -1 if words[-1].isdigit() else None]
        age = int(words[-1]) if words[-1].isdigit() else 0
        entries.append(Entry(name.strip(), tuple(old.split()), tuple(new), State(state), NOW - age))
    return of(*entries)


def short(lineage: Lineage) -> dict[str, str]:
    """{id: ``old > new STATE``}"""
    return {e.id: " ".join([*e.segments_from, ">", *e.segments_to, e.state]) for e in lineage.entries.values()}


def config(kind: str = "APPEND", **segments_config: str) -> TableConfig:
    """A table of this ingestion type."""
    batch = {"batchIngestionConfig": {"segmentIngestionType": kind}}
    return parse_table_config(
        {"tableName": "t", "tableType": "OFFLINE", "segmentsConfig": segments_config, "ingestionConfig": batch}
    )


@dataclass(frozen=True)
class Case:
    """``call`` is ``start old > new``, ``end X [segmentsTo]`` or ``revert X``. ``gives``: what changes in the entries,
    or a refusal.

    ``deleted``: what leaves the ideal state by it, now or right after the switch. ``why``: our reason where Pinot does
    something else.
    """

    number: str
    lineage: str
    ideal: str
    call: str
    gives: dict[str, str] | type[Rejected]
    force: bool = False
    kind: str = "APPEND"
    deleted: str = ""
    visible: str | None = None
    offline: str = ""
    why: str = field(default="", repr=False)


TWO = "A: s0 s1 s2 > s3 s4 s5 COMPLETED"
CASES = [
    Case("17", "", "s0 s1 s2 s3 s4", "start > s5 s6", {"new": " > s5 s6 IN_PROGRESS".strip()}),
    Case("18 unknown or hidden segmentsFrom", "", "s0", "start nope > n", NotFound),
    Case("19 a pending segmentsTo is not visible", "Y: > s5 s6 IN_PROGRESS", "s0 s1 s6", "start s1 s6 > s7", NotFound),
    Case("20 a visible segmentsTo", "", "s0 s1", "start s0 > s1", StateConflict),
    Case("21", "X: s1 s2 > t2_0 t2_1 IN_PROGRESS", "s1 s2 t2_0", "start s1 s2 > t3_0 t3_1", StateConflict),
    Case(
        "22",
        "X: s1 s2 > t2_0 t2_1 IN_PROGRESS",
        "s1 s2 t2_0",
        "start s1 s2 > t3_0 t3_1",
        {"X": "s1 s2 > t2_0 t2_1 REVERTED", "new": "s1 s2 > t3_0 t3_1 IN_PROGRESS"},
        force=True,
        deleted="t2_0",
        visible="s1 s2",
    ),
    Case("23", "Y: > s7 s8 IN_PROGRESS", "s0", "start > s7 s8", {"new": "> s7 s8 IN_PROGRESS"}, force=True),
    Case(
        "24 a rest of the new names stays behind",
        "Y: > s7 s8 IN_PROGRESS",
        "s0 s7 s8",
        "start > s7",
        {"Y": "> s8 REVERTED", "new": "> s7 IN_PROGRESS"},
        force=True,
        deleted="s8",
        visible="s0",
    ),
    Case(
        "25",
        "Z: s9 s10 > s11 s12 IN_PROGRESS",
        "s0 s9 s10 s11",
        "start s0 s9 > s13 s14",
        {"Z": "s9 s10 > s11 s12 REVERTED", "new": "s0 s9 > s13 s14 IN_PROGRESS"},
        force=True,
        deleted="s11",
    ),
    Case(
        "26 without overlap both run",
        "Z: s9 > s11 IN_PROGRESS",
        "s0 s9",
        "start s0 > s13",
        {"Z": "s9 > s11 IN_PROGRESS", "new": "s0 > s13 IN_PROGRESS"},
        force=True,
    ),
    Case("27", "Z: > s7 IN_PROGRESS", "s0", "start > s7 s8", StateConflict),
    Case("28 only removal", "", "s0 s1", "start s0 >", {"new": "s0 > IN_PROGRESS"}),
    Case(
        "30",
        TWO,
        "s0 s1 s2 s3 s4 s5",
        "start s3 s4 s5 > s6 s7 s8",
        {"A": "s0 s1 s2 > s3 s4 s5 COMPLETED", "new": "s3 s4 s5 > s6 s7 s8 IN_PROGRESS"},
        force=True,
        kind="REFRESH",
        visible="s3 s4 s5",
        why="Pinot deletes s0 s1 s2 here: should this push fail nothing is left to go back to. Here they go after "
        "its end (rule `previous-snapshots-kept`).",
    ),
    Case(
        "31",
        TWO + "; B: s3 s4 s5 > s6 s7 s8 IN_PROGRESS",
        "s0 s1 s2 s3 s4 s5 s6",
        "start s3 s4 s5 > s9 s10 s11",
        {
            "A": "s0 s1 s2 > s3 s4 s5 COMPLETED",
            "B": "s3 s4 s5 > s6 s7 s8 REVERTED",
            "new": "s3 s4 s5 > s9 s10 s11 IN_PROGRESS",
        },
        force=True,
        kind="REFRESH",
        deleted="s6",
        visible="s3 s4 s5",
        why="As 30: s0 s1 s2 stay until the end (rule `previous-snapshots-kept`).",
    ),
    Case(
        "33 not the newest link",
        TWO + "; B: s3 s4 s5 > s9 IN_PROGRESS",
        "s3 s4 s5",
        "revert A",
        StateConflict,
        force=True,
    ),
    Case(
        "35 APPEND keeps them",
        TWO,
        "s0 s1 s2 s3 s4 s5",
        "start s3 s4 s5 > s9",
        {"A": "s0 s1 s2 > s3 s4 s5 COMPLETED", "new": "s3 s4 s5 > s9 IN_PROGRESS"},
        force=True,
    ),
    Case(
        "36 a reverted push leaves what it uploaded",
        "R: s0 > s1 REVERTED",
        "s0 s1",
        "start s0 > s2",
        {"R": "s0 > s1 REVERTED", "new": "s0 > s2 IN_PROGRESS"},
        force=True,
        deleted="s1",
    ),
    Case(
        "38 a name of a reverted push again",
        "R: s0 > s1 s2 REVERTED",
        "s0 s1",
        "start s0 > s1",
        {"R": "s0 > s2 REVERTED", "new": "s0 > s1 IN_PROGRESS"},
        deleted="s1",
        why="In Pinot R goes on hiding s1, so that after the end neither side is seen.",
    ),
    Case(
        "40 a name of a completed push whose segment was deleted",
        "C: s0 > s1 COMPLETED",
        "s0 s2",
        "start s2 > s1",
        {"C": "s0 > COMPLETED", "new": "s2 > s1 IN_PROGRESS"},
        force=True,
        why="In Pinot C keeps the name: its revert would later hide the new segment, too.",
    ),
    Case(
        "41",
        "A: s0 > s1 COMPLETED",
        "s0 s1",
        "start s1 > s0",
        StateConflict,
        why="Pinot accepts the swap, and after the end both sides are hidden (rule `no-mutual-hiding`).",
    ),
    Case(
        "42 nor in a longer circle",
        "A: s0 > s1 COMPLETED; B: s1 > s2 COMPLETED",
        "s0 s1 s2",
        "start s2 > s0",
        StateConflict,
        force=True,
        why="As 41.",
    ),
    Case("43", "X: > s5 s6 IN_PROGRESS", "s0", "end X", PreconditionFailed),
    Case("44 uploaded", "X: > s5 s6 IN_PROGRESS", "s0 s5 s6", "end X", {"X": "> s5 s6 COMPLETED"}, visible="s0 s5 s6"),
    Case("45 no such entry", "", "s0", "end invalid", NotFound),
    Case(
        "46 a narrower list",
        "X: s0 > s5 s6 IN_PROGRESS",
        "s0 s5 s6",
        "end X s5",
        {"X": "s0 > s5 COMPLETED"},
        deleted="s6",
        visible="s5",
        why="In Pinot s6 is in no entry any more and becomes visible beside s5 (rule `dropped-segments-go`).",
    ),
    Case("46 a foreign name", "X: s0 > s5 IN_PROGRESS", "s0 s5 s9", "end X s9", InvalidInput),
    Case(
        "46 a narrower list that is not uploaded", "X: s0 > s5 s6 IN_PROGRESS", "s0 s6", "end X s5", PreconditionFailed
    ),
    Case("47 its own list", "X: s0 > s5 IN_PROGRESS", "s0 s5", "end X", {"X": "s0 > s5 COMPLETED"}),
    Case("48 again", "X: s0 > s5 COMPLETED", "s0 s5", "end X whatever", {"X": "s0 > s5 COMPLETED"}),
    Case("48 of a reverted one", "X: s0 > s5 REVERTED", "s0 s5", "end X", StateConflict),
    Case("49 a segmentsFrom is gone", "X: s1 > s2 IN_PROGRESS", "s2", "end X", PreconditionFailed),
    Case(
        "49 forced revert recovers",
        "X: s1 > s2 IN_PROGRESS",
        "s2",
        "revert X",
        {"X": "s1 > s2 REVERTED"},
        force=True,
        deleted="s2",
    ),
    Case("50 only removal", "X: s0 > IN_PROGRESS", "s0 s1", "end X", {"X": "s0 > COMPLETED"}, visible="s1"),
    Case("53 unforced", "X: s1 s2 > m0 m1 IN_PROGRESS", "s1 s2 m0", "revert X", StateConflict),
    Case(
        "53 forced",
        "X: s1 s2 > m0 m1 IN_PROGRESS",
        "s1 s2 m0",
        "revert X",
        {"X": "s1 s2 > m0 m1 REVERTED"},
        force=True,
        deleted="m0",
    ),
    Case(
        "54",
        TWO,
        "s0 s1 s2 s3 s4 s5",
        "revert A",
        {"A": "s0 s1 s2 > s3 s4 s5 REVERTED"},
        deleted="s3 s4 s5",
        visible="s0 s1 s2",
    ),
    Case("55", TWO + "; B: s3 s4 s5 > s6 s7 s8 IN_PROGRESS", "s0 s1 s2 s3 s4 s5", "revert A", StateConflict),
    Case(
        "56 the newest first",
        TWO + "; B: s3 s4 s5 > s6 COMPLETED",
        "s0 s1 s2 s3 s4 s5 s6",
        "revert B",
        {"A": "s0 s1 s2 > s3 s4 s5 COMPLETED", "B": "s3 s4 s5 > s6 REVERTED"},
        deleted="s6",
        visible="s3 s4 s5",
    ),
    Case("57 old side gone", "C: s3 s4 > s9 COMPLETED", "s3 s9", "revert C", PreconditionFailed, force=True),
    Case(
        "57 old side not online",
        "C: s3 s4 > s9 COMPLETED",
        "s3 s4 s9",
        "revert C",
        PreconditionFailed,
        force=True,
        offline="s4",
    ),
    Case(
        "58 the new side need not be there",
        "C: s3 > s9 COMPLETED",
        "s3",
        "revert C",
        {"C": "s3 > s9 REVERTED"},
        visible="s3",
    ),
    Case("59", "C: > s1 COMPLETED", "s1", "revert C", {"C": "> s1 REVERTED"}, deleted="s1", visible=""),
    Case("60 twice", "C: s0 > s1 REVERTED", "s0", "revert C", StateConflict, force=True),
    Case(
        "61",
        "A: a > b COMPLETED; B: b > c REVERTED",
        "a b",
        "revert A",
        {"A": "a > b REVERTED", "B": "b > c REVERTED"},
        deleted="b",
    ),
]


def perform(case: Case) -> Decision:
    """The call of a case."""
    lineage, ideal = parse(case.lineage), case.ideal.split()
    verb, *words = case.call.split()
    if verb == "start":
        cut = words.index(">")
        replacement.check_request(words[:cut], words[cut + 1 :])
        wanted = Replacement(tuple(words[:cut]), tuple(words[cut + 1 :]), case.force)
        return replacement.start(lineage, wanted, entry_id="new", ideal=ideal, now_ms=NOW + 1)
    if verb == "end":
        refresh = case.kind == "REFRESH"
        return replacement.end(
            lineage, words[0], segments_to=words[1:], ideal=ideal, is_refresh=refresh, now_ms=NOW + 1
        )
    served = {s: s not in case.offline.split() for s in ideal}
    return replacement.revert(lineage, words[0], force=case.force, ideal=served, now_ms=NOW + 1)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.number)
def test_case(case: Case) -> None:
    if isinstance(case.gives, type):
        with pytest.raises(case.gives) as caught:
            perform(case)
        assert caught.value.message
        assert caught.value.remedy or case.number == "46 a foreign name"
        assert 400 <= caught.value.status < 500
        return
    before, done = parse(case.lineage), perform(case)
    assert short(done.lineage) == {k: v.strip() for k, v in case.gives.items()}
    assert sorted({*done.delete, *done.remove_now}) == sorted(case.deleted.split())
    known = {e.id: e.state for e in before.entries.values()}
    assert {e.timestamp_ms for e in done.lineage.entries.values() if known.get(e.id) is not e.state} <= {NOW + 1}
    left = [s for s in case.ideal.split() if s not in {*done.delete, *done.remove_now}]
    assert case.visible is None or done.lineage.visible(left) == sorted(case.visible.split())
