"""Reset and reload of segments on every kind of cluster: the same messages to servers, refusals and audit records."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.clusters.pinot import calls
from segments.errors import NotFound
from segments.services.segments import uploads
from segments.services.segments.segment_reset import reload_segments, reset_segment, reset_table
from segments.store.records import messages
from tests.services.segments.kinds import KINDS, Kind, SimulatedKind, kind_of, tar
from tests.services.world import ANN

pytestmark = pytest.mark.django_db
SERVER = "Server_a_1"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimulatedKind:
    """Segments a and b are online on one server."""
    monkeypatch.setattr(calls, "_PAUSE_S", 0.0)
    made = kind_of(request.param, tmp_path)
    made.inside.upload("a", "b")
    return made


def resets(kind: SimulatedKind) -> list[str]:
    """Segments whose replica the server is to start again."""
    found = messages.read(kind.inside.memory, SERVER)
    return sorted(m.partition for m in found if m.subtype != messages.RELOAD_SEGMENT)


def reloads(kind: SimulatedKind) -> list[tuple[list[str], str]]:
    """(segments, whether their files are downloaded) of each reload that the server is to do; none named: all."""
    found = [m for m in messages.read(kind.inside.memory, SERVER) if m.subtype == messages.RELOAD_SEGMENT]
    return [(list(m.lists.get("segmentNames", ())), m.simple["forceDownload"]) for m in found]


@pytest.fixture
def loaded(empty: Kind, tmp_path: Path) -> Kind:
    """Segments a and b are online, on a cluster that may be a real one."""
    for name in "ab":
        uploads.upload_tar(empty.ctx, empty.table, tar(tmp_path, name), actor=ANN)
    assert empty.visible == ["a", "b"]
    return empty


def events(kind: Kind) -> list[tuple[str, str]]:
    """(action, outcome) of what is on record, in order."""
    return [(e.action, e.outcome) for e in kind.events]


def test_a_reset_reaches_its_replicas_and_how_many_is_on_record(kind: SimulatedKind) -> None:
    assert reset_segment(kind.ctx, kind.table, "a", actor=ANN) == 1
    assert (resets(kind), events(kind)) == (["a"], [("resetSegment", "done")])
    detail = kind.events[0].detail
    assert (detail["segment"], detail["replicas"]) == ("a", 1)


def test_a_reset_of_one_server_needs_one_that_holds_the_segment(kind: SimulatedKind) -> None:
    assert reset_segment(kind.ctx, kind.table, "a", target=SERVER, actor=ANN) == 1
    with pytest.raises(NotFound, match="Instance 'Server_nobody_1' does not hold segment 'a'"):
        reset_segment(kind.ctx, kind.table, "a", target="Server_nobody_1", actor=ANN)
    assert (resets(kind), events(kind)) == (["a"], [("resetSegment", "done"), ("resetSegment", "refused")])


def test_a_reset_of_a_table_reaches_all_or_only_what_is_in_error(kind: SimulatedKind) -> None:
    assert reset_table(kind.ctx, kind.table, errors_only=True, actor=ANN) == 0
    assert resets(kind) == []
    kind.inside.breaks("b")
    assert reset_table(kind.ctx, kind.table, errors_only=True, actor=ANN) == 1
    assert resets(kind) == ["b"]
    assert reset_table(kind.ctx, kind.table, errors_only=False, actor=ANN) == 2
    assert resets(kind) == ["a", "b", "b"]
    assert [(e.detail["errorsOnly"], e.detail["replicas"]) for e in kind.events] == [(True, 0), (True, 1), (False, 2)]


def test_a_reload_reaches_the_servers_and_its_job_is_on_record(kind: SimulatedKind) -> None:
    answer = reload_segments(kind.ctx, kind.table, segments=["a"], force_download=True, actor=ANN)
    assert (answer["numMessagesSent"], reloads(kind)) == ("1", [(["a"], "true")])
    detail = kind.events[0].detail
    assert (detail["segments"], detail["messages"], detail["job"]) == (["a"], "1", answer["reloadJobId"])
    reload_segments(kind.ctx, kind.table, actor=ANN)
    assert reloads(kind)[1:] == [([], "false")]


def test_a_segment_that_nobody_holds_is_not_found_and_nothing_is_sent(kind: SimulatedKind) -> None:
    with pytest.raises(NotFound, match="'nothing' is not assigned"):
        reset_segment(kind.ctx, kind.table, "nothing", actor=ANN)
    with pytest.raises(NotFound, match="'nothing' is not assigned"):
        reload_segments(kind.ctx, kind.table, segments=["a", "nothing"], actor=ANN)
    assert (resets(kind), reloads(kind)) == ([], [])
    assert events(kind) == [("resetSegment", "refused"), ("reloadSegments", "refused")]


def test_a_reset_that_servers_carry_out_leaves_all_segments_visible_and_is_on_record(loaded: Kind) -> None:
    assert reset_segment(loaded.ctx, loaded.table, "a", actor=ANN) == 1
    assert reset_table(loaded.ctx, loaded.table, errors_only=True, actor=ANN) == 0
    assert loaded.visible == ["a", "b"]
    assert events(loaded)[-2:] == [("resetSegment", "done"), ("resetSegments", "done")]


def test_a_reset_of_what_is_not_there_is_refused_on_record_and_changes_nothing(loaded: Kind) -> None:
    with pytest.raises(NotFound, match="'nothing' is not assigned"):
        reset_segment(loaded.ctx, loaded.table, "nothing", actor=ANN)
    with pytest.raises(NotFound, match="Instance 'Server_nobody_1' does not hold segment 'a'"):
        reset_segment(loaded.ctx, loaded.table, "a", target="Server_nobody_1", actor=ANN)
    assert events(loaded)[-2:] == [("resetSegment", "refused")] * 2
    assert loaded.visible == ["a", "b"]
