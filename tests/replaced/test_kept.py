"""A segment that is replaced by one of its name is kept as long as a deleted one: on the embedded cluster, whose
servers and deep store are ours, and in the console; what both kinds of cluster share is in ``test_every_kind.py``.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from django.test import Client

from segments import wiring
from segments.domain.segments.admission import Conditions
from segments.domain.tables.table_config import parse_table_config
from segments.errors import OutcomeUnknown, StateConflict
from segments.gateways.deep_store.deepstore import DeepStore
from segments.gateways.deep_store.no_deep_store import NoDeepStore
from segments.segmentfile.packed.tar import read_info_from_tar
from segments.services.core.context import Context
from segments.services.segments import archive, deletion
from segments.services.segments.restore import restore_segments
from segments.services.segments.uploads import UploadOptions, upload_metadata, upload_tar
from segments.services.upkeep import retention
from segments.store import paths
from tests.api.cluster import ANN, TABLE, ApiCluster, config_of
from tests.console.conftest import logged_in
from tests.factories import make_table
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan
from tests.services.segments.test_uploads import made, over, served

pytestmark = pytest.mark.django_db
DAY_MS = 86_400_000


@pytest.fixture
def cluster(tmp_path: Path, settings: object) -> ApiCluster:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # type: ignore[attr-defined]
    return made(tmp_path / "cluster")


def replaced(cluster: ApiCluster) -> tuple[bytes, bytes]:
    """Segment s0 of 3 rows, then of 9; both tars."""
    old, new = cluster.build("s0", 3), cluster.build("s0", 9)
    for file in (old, new):
        upload_tar(cluster.ctx, TABLE, file, actor=ANN)
        cluster.serve()
    return old.read_bytes(), new.read_bytes()


def kept_rows(cluster: ApiCluster) -> list[tuple[int | None, str]]:
    return sorted((k.kept.metadata.total_docs, k.why) for k in archive.list_kept(cluster.ctx, TABLE)[0] if k.kept)


def test_the_replaced_segment_is_listed_with_why_and_goes_back_and_forth_by_name(cluster: ApiCluster) -> None:
    old, new = replaced(cluster)
    (kept,), total = archive.list_kept(cluster.ctx, TABLE)
    assert (kept.segment, kept.why, kept.is_there, total) == ("s0", "replaced", True, 1)
    assert kept.kept is not None
    assert (kept.kept.deleted_by, kept.kept.reason, kept.kept.metadata.total_docs) == ("ann", "because", 3)
    (refusal,) = restore_segments(cluster.ctx, TABLE, ["s0"], actor=ANN)
    assert (refusal.outcome, "overwrite=true" in refusal.remedy) == ("refused", True)
    (preview,) = restore_segments(cluster.ctx, TABLE, ["s0"], dry_run=True, overwrite=True, actor=ANN)
    assert ("3 rows" in preview.message, "instead of 9 rows" in preview.message, served(cluster, "s0")) == (
        True,
        True,
        new,
    )
    for back in (old, new):
        assert restore_segments(cluster.ctx, TABLE, ["s0"], overwrite=True, actor=ANN)[0].outcome == "done"
        assert (served(cluster, "s0"), list(cluster.ideal), cluster.files) == (back, ["s0"], ["s0"])
    assert kept_rows(cluster) == [(3, "replaced")]


def test_a_deleted_segment_is_kept_though_its_name_comes_again_before_its_file_was_archived(
    cluster: ApiCluster,
) -> None:
    upload_tar(cluster.ctx, TABLE, cluster.build("s0"), actor=ANN)
    deletion.remove_segments(cluster.ctx, TABLE, ["s0"], actor=ANN)
    upload_tar(cluster.ctx, TABLE, cluster.build("s0", 9), actor=ANN)
    assert kept_rows(cluster) == [(3, "replaced")]


def test_it_is_kept_as_long_as_deletions_are_and_not_at_all_where_those_are_not(
    cluster: ApiCluster, tmp_path: Path
) -> None:
    replaced(cluster)
    cluster.now += 8 * DAY_MS
    retention.run(cluster.ctx, TABLE)
    assert archive.list_kept(cluster.ctx, TABLE) == ([], 0)
    other = made(tmp_path / "other")
    node = other.memory.get(paths.table_config(TABLE.typed))
    assert node is not None
    config = parse_table_config(config_of(segments={"deletedSegmentsRetentionPeriod": "0d"}))
    other.memory.replace(paths.table_config(TABLE.typed), config.to_record(), node.version)
    replaced(other)
    assert archive.list_kept(other.ctx, TABLE) == ([], 0)


def test_the_same_content_again_and_a_refused_upload_keep_nothing(cluster: ApiCluster) -> None:
    file = cluster.build("s0")
    for _ in range(2):
        upload_tar(cluster.ctx, TABLE, file, actor=ANN)
    with pytest.raises(StateConflict, match="would replace 1 segment"):
        options = UploadOptions(Conditions(keeps_content=True))
        upload_tar(cluster.ctx, TABLE, cluster.build("s0", 9), options=options, actor=ANN)
    assert archive.list_kept(cluster.ctx, TABLE) == ([], 0)
    assert served(cluster, "s0") == file.read_bytes()


def test_a_metadata_upload_whose_file_took_the_place_before_keeps_no_wrong_content_and_says_so(
    cluster: ApiCluster,
) -> None:
    upload_tar(cluster.ctx, TABLE, cluster.build("s0", 3), actor=ANN)
    new = cluster.build("s0", 9)
    place = cluster.ctx.deep_store.segment_path("t", "s0")
    cluster.ctx.deep_store.put(new, place)
    result = upload_metadata(
        cluster.ctx, TABLE, [(read_info_from_tar(new), cluster.ctx.deep_store.uri(place), None)], actor=ANN
    )
    assert ("is not kept" in result.warnings[0], archive.list_kept(cluster.ctx, TABLE)[1]) == (True, 0)


def test_without_a_deep_store_nothing_is_kept_and_uploads_by_address_still_replace(cluster: ApiCluster) -> None:
    bare = Context(**{**cluster.ctx.__dict__, "deep_store": NoDeepStore()})
    for count in (3, 9):
        part = read_info_from_tar(cluster.build("s0", count)), f"http://localhost:1/{count}", None
        assert upload_metadata(bare, TABLE, [part], actor=ANN).warnings == ()
    assert cluster.fields("s0")["segment.total.docs"] == "9"


@pytest.mark.parametrize("fault", list(Fault))
def test_cut_after_any_write_the_old_content_is_still_served_or_kept(
    tmp_path: Path, settings: object, fault: Fault
) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # type: ignore[attr-defined]
    for number in range(1, 10):
        cluster = made(tmp_path / f"{number}")
        old = cluster.build("s0", 3)
        upload_tar(cluster.ctx, TABLE, old, actor=ANN)
        client = cluster.memory.another_client()
        store = FaultyStore(client, Plan({number: fault}))
        with suppress(Cut, OutcomeUnknown):
            upload_tar(over(cluster, store), TABLE, cluster.build("s0", 9), actor=ANN)
        client.close()
        assert served(cluster, "s0") == old.read_bytes() or (3, "replaced") in kept_rows(cluster), number
        if len(store.writes) < number:
            return
    pytest.fail("the upload made more writes than expected")


def test_the_console_shows_why_and_puts_the_kept_version_back_after_a_preview(cluster: ApiCluster) -> None:
    old, _ = replaced(cluster)
    make_table("t_OFFLINE")
    with wiring.use(cluster.ctx):
        admin: Client = logged_in("anna", "administer")
        page = admin.get("/console/tables/t_OFFLINE/deleted/").content.decode()
        assert "Replaced by one of the same name, by ann" in page
        (kept,), _total = archive.list_kept(cluster.ctx, TABLE)
        preview = admin.get("/console/tables/t_OFFLINE/deleted/restore/", {"f": kept.file}).content.decode()
        assert "3 rows" in preview
        assert "instead of 9 rows" in preview
        values = {"f": kept.file, "reason": "wrong file", "confirm": "restore 1"}
        assert admin.post("/console/tables/t_OFFLINE/deleted/restore/", values).status_code == 302
    assert served(cluster, "s0") == old


def test_a_file_is_copied_in_stores_of_every_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A local one, one whose file system has no hard links, and a remote one."""

    def refuse(*_: object) -> None:
        raise OSError("no links here")

    for store in (DeepStore(f"file://{tmp_path}/a"), DeepStore(f"file://{tmp_path}/b"), DeepStore("mock:///c")):
        store.write("t/s", b"old")
        assert store.copy("t/s", "Deleted_Segments/t/s!1")
        store.write("t/s", b"new")
        assert (store.read("Deleted_Segments/t/s!1"), store.copy("t/nothing", "t/x")) == (b"old", False)
        monkeypatch.setattr("os.link", refuse)


def test_an_older_version_asked_for_by_its_file_is_not_mixed_up_with_the_one_that_waits_for_its_deletion(
    cluster: ApiCluster,
) -> None:
    old, _ = replaced(cluster)
    (kept,), _ = archive.list_kept(cluster.ctx, TABLE)
    assert kept.kept is not None
    deletion.delete_segments(cluster.ctx, TABLE, ["s0"], actor=ANN)
    (refusal,) = restore_segments(cluster.ctx, TABLE, [], files=[kept.file], actor=ANN)
    assert (refusal.outcome, "is just being deleted" in refusal.message) == ("refused", True)
    cluster.serve()
    deletion.drain(cluster.ctx, TABLE)
    (back,) = restore_segments(cluster.ctx, TABLE, [], files=[kept.file], actor=ANN)
    assert (back.outcome, back.crc) == ("done", kept.kept.metadata.crc)
    assert served(cluster, "s0") == old
