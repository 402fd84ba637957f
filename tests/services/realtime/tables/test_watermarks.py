"""A new table goes on where another one stopped: first sequence numbers and offsets that it is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.domain.realtime.first_starts import Watermark, parse_watermarks
from segments.domain.realtime.llc_name import parse_llc_name
from segments.errors import InvalidInput, PinotAdminError, StateConflict
from segments.models import AuditEvent
from segments.services.realtime.realtime_validation import keep_consumption
from segments.services.tables import tables
from tests.services.realtime_world import ANN, RealtimeWorld, config_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path) -> RealtimeWorld:
    """A stream of three partitions with messages [10, 100), and no table yet."""
    made = RealtimeWorld(tmp_path, partitions=3, create=False)
    made.streams.topics["a"] = {p: [10, 100] for p in range(3)}
    return made


def create(world: RealtimeWorld, marks: dict[int, Watermark], **config: Any) -> None:
    tables.create_table(world.ctx, config_of(**config), actor=ANN, watermarks=marks)


def firsts(world: RealtimeWorld) -> dict[int, tuple[int, str]]:
    """{partition: sequence and start of its consuming segment}"""
    names = [parse_llc_name(s) for s in world.consuming]
    return {n.partition: (n.sequence, world.fields(n.text)["segment.realtime.startOffset"]) for n in names}


def test_given_sequences_and_offsets_are_used_as_they_are_and_all_others_begin_as_usual(world: RealtimeWorld) -> None:
    create(world, {0: Watermark(5, "50"), 2: Watermark(0, "20")})
    assert firsts(world) == {0: (5, "50"), 1: (0, "10"), 2: (0, "20")}
    detail = AuditEvent.objects.get(action="createTable").detail
    assert detail["watermarks"]["0"] == {"sequence": 5, "offset": "50"}
    world.commit("60")
    keep_consumption(world.ctx)
    assert firsts(world) == {0: (6, "60"), 1: (1, "60"), 2: (1, "60")}


def test_partitions_beyond_one_transaction_keep_their_watermarks(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=700, create=False)
    world.streams.topics["a"] = {p: [0, 100] for p in range(700)}
    create(world, {p: Watermark(p, str(p % 100)) for p in range(700)})
    assert firsts(world) == {p: (p, str(p % 100)) for p in range(700)}
    assert not world.ideal.lists, "nothing is left to be noted"


@pytest.mark.parametrize(
    ("marks", "config", "error"),
    [
        ({7: Watermark(0, "50")}, {}, InvalidInput),
        ({0: Watermark(0, "never")}, {}, InvalidInput),
        ({0: Watermark(3, "9")}, {}, StateConflict),
        ({0: Watermark(3, "50")}, {"tableType": "OFFLINE"}, InvalidInput),
    ],
    ids=["no such partition", "no offset", "rows are gone", "no stream"],
)
def test_what_cannot_be_kept_is_refused_and_no_table_is_made(
    world: RealtimeWorld, marks: dict[int, Watermark], config: dict[str, Any], error: type[PinotAdminError]
) -> None:
    with pytest.raises(error):
        create(world, marks, **config)
    assert tables.list_tables(world.ctx) == []


def test_watermarks_are_read_as_a_table_reports_them_and_minus_one_is_zero() -> None:
    given = [{"partitionGroupId": 0, "sequenceNumber": 5, "offset": "50"}, {"partitionGroupId": 1, "offset": "7"}]
    assert parse_watermarks(given) == {0: Watermark(5, "50"), 1: Watermark(0, "7")}
    assert parse_watermarks([{"partitionGroupId": 0, "sequenceNumber": -1, "offset": "50"}])[0].sequence == 0
    assert parse_watermarks([]) == {}


@pytest.mark.parametrize("given", [
    {}, [1], "x", [{"partitionGroupId": -1, "offset": "1"}], [{"partitionGroupId": 0}],
    [{"partitionGroupId": 0, "offset": ""}], [{"partitionGroupId": True, "offset": "1"}],
    [{"partitionGroupId": 0, "sequenceNumber": -2, "offset": "1"}], [{"partitionGroupId": 0, "offset": "1"}] * 2,
])  # fmt: skip
def test_what_are_no_watermarks_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInput):
        parse_watermarks(given)
