"""Uploads as use cases: fenced by a lineage entry, racing with one another and with deletion, cut after every write."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from segments.clusters.embedded.segments import registration as upload_registration
from segments.domain.replacement import lineage as lineages
from segments.domain.replacement.lineage import Entry, State
from segments.domain.segments.admission import Conditions
from segments.errors import InvalidInput, NotFound, OutcomeUnknown, PinotAdminError, StateConflict
from segments.models import AuditEvent
from segments.names import TableName
from segments.segmentfile.format.info import SegmentInfo
from segments.segmentfile.packed.tar import read_info_from_tar
from segments.services.core.context import Context
from segments.services.segments import deletion, downloads
from segments.services.segments.uploads import UploadOptions, upload_metadata, upload_tar
from segments.store import paths
from segments.store.base import Store
from tests.api.cluster import ANN, TABLE, ApiCluster
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(tmp_path: Path) -> ApiCluster:
    return made(tmp_path / "cluster")


def made(folder: Path) -> ApiCluster:
    from segments.services.tables import schemas, tables
    from tests.api.cluster import config_of, schema_of

    cluster = ApiCluster(folder)
    schemas.create_schema(cluster.ctx, schema_of(), override=False, actor=ANN)
    tables.create_table(cluster.ctx, config_of(replication=2), actor=ANN)
    return cluster


def over(cluster: ApiCluster, store: Store) -> Context:
    return Context(**{**cluster.ctx.__dict__, "store": store})


def part(cluster: ApiCluster, name: str, count: int = 3) -> tuple[SegmentInfo, str, int | None]:
    return read_info_from_tar(cluster.build(name, count)), f"http://localhost:1/{name}", None


def lineage(cluster: ApiCluster, state: State, *segments: str) -> None:
    entry = Entry("e1", (), segments, state, cluster.now)
    record = lineages.to_record(lineages.empty(TABLE.typed).having(entry))
    path = paths.lineage(TABLE.typed)
    node = cluster.memory.get(path)
    if node is None:
        cluster.memory.create(path, record)
    else:
        cluster.memory.replace(path, record, node.version)


def served(cluster: ApiCluster, name: str) -> bytes:
    return b"".join(downloads.open_segment(cluster.ctx, "t", name).chunks())


def test_a_fenced_upload_comes_in_while_its_entry_runs(cluster: ApiCluster) -> None:
    lineage(cluster, State.IN_PROGRESS, "s0", "s1")
    result = upload_metadata(cluster.ctx, TABLE, [part(cluster, "s0")], actor=ANN, lineage_entry="e1")
    assert result.segments == ("s0",)
    assert list(cluster.ideal) == ["s0"]


@pytest.mark.parametrize(
    ("state", "listed", "error"),
    [
        (State.COMPLETED, "s0", StateConflict),
        (State.REVERTED, "s0", StateConflict),
        (State.IN_PROGRESS, "x", StateConflict),
    ],
)
def test_a_late_or_strange_upload_is_fenced_off(
    cluster: ApiCluster, state: State, listed: str, error: type[PinotAdminError]
) -> None:
    lineage(cluster, state, listed)
    with pytest.raises(error, match="e1"):
        upload_metadata(cluster.ctx, TABLE, [part(cluster, "s0")], actor=ANN, lineage_entry="e1")
    with pytest.raises(NotFound, match="other"):
        upload_metadata(cluster.ctx, TABLE, [part(cluster, "s0")], actor=ANN, lineage_entry="other")
    assert cluster.ideal == {}


def test_a_revert_right_before_the_write_stops_a_fenced_upload(cluster: ApiCluster) -> None:
    lineage(cluster, State.IN_PROGRESS, "s0")
    store = FaultyStore(cluster.memory, Plan(before={1: lambda: lineage(cluster, State.REVERTED, "s0")}))
    with pytest.raises(StateConflict, match="REVERTED"):
        upload_metadata(over(cluster, store), TABLE, [part(cluster, "s0")], actor=ANN, lineage_entry="e1")
    assert cluster.ideal == {}
    assert cluster.memory.children(paths.segments(TABLE.typed)) == []


def test_uploads_that_race_for_the_ideal_state_all_come_in(cluster: ApiCluster) -> None:
    parts = [part(cluster, f"s{i}") for i in range(8)]
    failures: list[BaseException] = []

    def upload(one: tuple[SegmentInfo, str, int | None]) -> None:
        try:
            upload_registration.Registration(
                cluster.ctx, upload_config(cluster), [described(one)], UploadOptions(), None, cluster.now
            ).write()
        except BaseException as error:  # noqa: BLE001  reported by the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=upload, args=(p,)) for p in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert failures == []
    assert len(cluster.ideal) == len(cluster.memory.children(paths.segments(TABLE.typed))) == 8


def upload_config(cluster: ApiCluster) -> object:
    from segments.services.tables.table_record import read_table_config

    return read_table_config(cluster.ctx, TABLE)


def described(one: tuple[SegmentInfo, str, int | None]) -> object:
    from segments.clusters.embedded.segments.uploads import described

    return described(*one)


@pytest.mark.parametrize("count", [5, 300])
def test_many_segments_take_as_few_transactions_as_fit(
    cluster: ApiCluster, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_registration, "_CHUNK_BYTES", 100_000)
    info, uri, _ = part(cluster, "s")
    parts = [(SegmentInfo(**{**info.__dict__, "name": f"s{i}"}), uri, None) for i in range(count)]
    store = FaultyStore(cluster.memory)
    upload_metadata(over(cluster, store), TABLE, parts, actor=ANN)
    assert len(cluster.ideal) == count
    assert len(store.writes) == (1 if count == 5 else 3)


def test_the_same_name_twice_in_one_push_is_refused(cluster: ApiCluster) -> None:
    with pytest.raises(InvalidInput):
        upload_metadata(cluster.ctx, TABLE, [part(cluster, "s0"), part(cluster, "s0")], actor=ANN)


def test_a_table_without_any_server_refuses_with_a_remedy(cluster: ApiCluster) -> None:
    for folder in (paths.PARTICIPANT_CONFIGS, paths.LIVE_INSTANCES):
        cluster.memory.delete_tree(folder)
    with pytest.raises(StateConflict, match="no enabled server carries the tag 'DefaultTenant_OFFLINE'"):
        upload_tar(cluster.ctx, TABLE, cluster.build("s0"), actor=ANN)
    assert cluster.files == []


def test_a_dead_server_keeps_its_share_while_too_few_are_alive(cluster: ApiCluster) -> None:
    cluster.memory.delete(paths.live_instance("Server_127.0.0.1_8098"))
    upload_tar(cluster.ctx, TABLE, cluster.build("s0"), actor=ANN)
    assert len(cluster.ideal["s0"]) == 2


def test_a_name_that_waits_for_its_deletion_can_be_uploaded_again(cluster: ApiCluster) -> None:
    upload_tar(cluster.ctx, TABLE, cluster.build("s0"), actor=ANN)
    deletion.remove_segments(cluster.ctx, TABLE, ["s0"], actor=ANN)
    tar = cluster.build("s0", 9)
    upload_tar(cluster.ctx, TABLE, tar, options=UploadOptions(Conditions(allow_refresh=False)), actor=ANN)
    deletion.drain(cluster.ctx, TABLE)
    assert served(cluster, "s0") == tar.read_bytes()
    assert cluster.fields("s0")["segment.total.docs"] == "9"


def test_refusals_and_uploads_are_audited(cluster: ApiCluster) -> None:
    upload_tar(cluster.ctx, TABLE, cluster.build("s0"), actor=ANN)
    with pytest.raises(InvalidInput, match="nope_OFFLINE"):
        upload_tar(cluster.ctx, TableName("nope", "OFFLINE"), cluster.build("s0"), actor=ANN)
    events = AuditEvent.objects.filter(action="uploadSegments").order_by("id").values_list("outcome", "actor", "target")
    assert list(events) == [("done", "ann", "t_OFFLINE"), ("refused", "ann", "nope_OFFLINE")]


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("is_refresh", [False, True])
def test_a_tar_push_cut_anywhere_serves_old_or_new_and_can_be_repeated(
    tmp_path: Path, fault: Fault, is_refresh: bool
) -> None:
    for number in range(1, 10):
        cluster = made(tmp_path / f"{fault.name}-{number}")
        old, new = cluster.build("s0", 3), cluster.build("s0", 9)
        if is_refresh:
            upload_tar(cluster.ctx, TABLE, old, actor=ANN)
        client = cluster.memory.another_client()
        store = FaultyStore(client, Plan({number: fault}))
        cut = False
        try:
            upload_tar(over(cluster, store), TABLE, new, actor=ANN)
        except (Cut, OutcomeUnknown):
            cut = True
        if cluster.ideal:
            on_record = {"3": old, "9": new}[cluster.fields("s0")["segment.total.docs"]]
            assert served(cluster, "s0") == on_record.read_bytes(), (number, fault)
        client.close()  # the dead process's session ends: its locks go
        upload_tar(cluster.ctx, TABLE, new, actor=ANN)
        assert served(cluster, "s0") == new.read_bytes()
        assert (list(cluster.ideal), cluster.files) == (["s0"], ["s0"])
        if not cut and len(store.writes) < number:
            return
    pytest.fail("the upload made more writes than expected")
