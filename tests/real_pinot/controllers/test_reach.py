"""Real credentials and certificates: a controller with Pinot's Basic authentication, on http and https; and the mirror
of each version.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segments import wiring
from segments.clusters.pinot import consumption as pinot_realtime
from segments.clusters.pinot.replacement.start_records import all_intents
from segments.errors import Forbidden, PinotAdminError
from segments.gateways.pinot.refusals import REFUSED, UNTRUSTED, UP
from segments.mirror.cluster_mirrors import ClusterMirrors
from segments.mirror.pinot import PinotMirror
from segments.models import AuditEvent, Cluster, Segment, Table
from segments.services.clusters import clusters
from segments.services.clusters.cluster_check import ClusterCheck
from segments.services.clusters.clusters import ClusterSpec
from segments.services.realtime import consumption
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.protocol import end_replace, start_replace
from segments.services.segments import deletion, uploads
from segments.services.tables import schemas, tables
from segments.store.memory import MemoryStore
from tests.integration.running import config_of, schema_of
from tests.real_pinot.controllers.driven import ANN, Driven
from tests.real_pinot.controllers.running import USERS, NewerController
from tests.real_pinot.controllers.test_services import make_tar
from tests.waiting import wait_until

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(300), pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any) -> Iterator[MemoryStore]:
    """The installation that clusters are added to."""
    settings.DATA_DIR = tmp_path
    settings.DEEP_STORE_URL = f"file://{tmp_path}/deep"
    store = MemoryStore()
    monkeypatch.setattr(wiring._parts, "store", store)
    yield store
    wiring.close()
    store.close()


def added(controller: NewerController, *, url: str = "", **more: Any) -> ClusterCheck:
    """Add it as ``newer`` and ask it everything."""
    clusters.add_cluster(ClusterSpec("newer", (url or controller.url,), **more), ANN)
    return clusters.check_cluster("newer")


def changed(controller: NewerController, *, url: str = "", **more: Any) -> ClusterCheck:
    clusters.change_cluster(ClusterSpec("newer", (url or controller.url,), **more), ANN)
    return clusters.check_cluster("newer")


def secret(user: str) -> dict[str, str]:
    return {"auth": "basic", "auth_user": user, "secret": USERS[user][0]}


def test_without_or_with_a_wrong_password_it_is_refused_and_the_right_one_is_taken(guarded: NewerController) -> None:
    assert added(guarded).state == REFUSED
    found = changed(guarded, auth="basic", auth_user="admin", secret="wrong")
    assert (found.state, found.is_ok) == (REFUSED, False)
    assert found.steps[0].remedy
    assert "wrong" not in str(found.to_json()).replace("wrong-cluster", "").replace("wrong ", "")
    right = changed(guarded, **secret("admin"), zookeeper=guarded.zookeeper)
    assert (right.state, right.is_ok, right.version.partition("-")[0]) == (UP, True, guarded.version)
    assert [step.ok for step in right.steps if step.name == "zookeeper"] == [True]


def test_a_secret_that_is_changed_in_its_place_is_taken_up(guarded: NewerController, tmp_path: Path) -> None:
    kept = tmp_path / "password"
    kept.write_text("an old word\n")
    assert added(guarded, auth="basic", auth_user="admin", secret_source=f"file:{kept}").state == REFUSED
    ctx = wiring.context("newer")
    with pytest.raises(PinotAdminError):
        tables.list_tables(ctx)
    kept.write_text(USERS["admin"][0] + "\n")
    wait_until(lambda: clusters.check_cluster("newer").state == UP, 60.0, "the new secret is used")
    wait_until(lambda: isinstance(works(ctx), list), 60.0, "the connection that was refused is used again")


def works(ctx: Any) -> list[str] | None:
    try:
        return tables.list_tables(ctx)
    except PinotAdminError:
        return None


def test_what_a_reader_may_not_change_is_reported_and_leaves_nothing_half_done(
    guarded: NewerController, tmp_path: Path
) -> None:
    admin = Driven(guarded, tmp_path / "admin", over_zookeeper=True)
    reader = Driven(guarded, tmp_path / "reader", over_zookeeper=False, user="reader")
    try:
        table, consumed = admin.offline_table("a"), admin.realtime_table()
        before = admin.ideal(table)
        assert tables.list_tables(reader.ctx) == tables.list_tables(admin.ctx)
        changes = {
            "a start": lambda: start_replace(reader.ctx, table, ["a"], ["b"], actor=ANN),
            "an upload": lambda: uploads.upload_tar(reader.ctx, table, make_tar(tmp_path, table, "c"), actor=ANN),
            "a deletion": lambda: deletion.delete_segments(reader.ctx, table, ["a"], actor=ANN),
            "a pause": lambda: consumption.pause_table(reader.ctx, consumed, comment="x", actor=ANN),
            "a schema": lambda: schemas.create_schema(reader.ctx, schema_of("not_mine"), override=False, actor=ANN),
            "a table": lambda: tables.create_table(reader.ctx, config_of("not_mine"), actor=ANN),
        }
        for what, change in changes.items():
            with pytest.raises(Forbidden) as told:
                change()
            assert "rights" in told.value.remedy or "may not" in told.value.remedy, what
        assert admin.ideal(table) == before
        assert observe(reader.ctx, table).lineage.entries == {}
        assert all_intents(reader.ctx, table) == []
        assert consumption.pause_status(admin.ctx, consumed)["pauseFlag"] is False
        assert pinot_realtime.read_pause(reader.ctx, consumed) is None
        assert set(AuditEvent.objects.exclude(outcome="").values_list("outcome", flat=True)) == {"refused"}
    finally:
        admin.close()
        reader.close()


def test_a_certificate_that_nobody_vouches_for_is_untrusted_and_with_its_authority_it_works(
    guarded: NewerController, tmp_path: Path
) -> None:
    found = added(guarded, url=guarded.https_url, **secret("admin"))
    assert (found.state, found.is_ok) == (UNTRUSTED, False)
    assert "certificate" in found.steps[0].message.lower()
    row = Cluster.objects.get(name="newer")
    assert (row.state, "certificate" in row.last_error.lower()) == (UNTRUSTED, True)
    right = changed(guarded, url=guarded.https_url, tls_ca=str(guarded.authority), **secret("admin"))
    assert (right.state, right.is_ok) == (UP, True), right.to_json()
    ctx = wiring.context("newer")
    schemas.create_schema(ctx, schema_of("over_tls"), override=True, actor=ANN)
    tables.create_table(ctx, config_of("over_tls"), actor=ANN)
    assert "over_tls" in tables.list_tables(ctx)
    unchecked = changed(guarded, url=guarded.https_url, tls_insecure=True, **secret("admin"))
    assert unchecked.state == UP
    assert any(step.name == "certificates" and "not checked" in step.message for step in unchecked.steps)


@pytest.mark.parametrize("way", ["zookeeper", "rest"])
def test_the_mirror_follows_a_real_controller_of_each_version(driven: Driven, tmp_path: Path, way: str) -> None:
    controller = driven.controller
    more = {"zookeeper": controller.zookeeper} if way == "zookeeper" else {}
    assert added(controller, **(secret("admin") if controller.is_guarded else {}), **more).state == UP
    table, consumed = driven.offline_table("a"), driven.realtime_table()
    fleet = ClusterMirrors(poll_s=0.05, make=lambda name: PinotMirror(name, health_s=0.3))
    fleet.start()
    try:
        wait_until(lambda: rows(table.typed) == {"a": True} and len(rows(consumed.typed)) == 2, 90.0, "the first rows")
        entry = start_replace(driven.ctx, table, ["a"], ["b"], actor=ANN)
        uploads.upload_tar(driven.ctx, table, make_tar(tmp_path, table, "b"), actor=ANN, lineage_entry=entry)
        end_replace(driven.ctx, table, entry, actor=ANN)
        wait_until(lambda: rows(table.typed) == {"a": False, "b": True}, 90.0, "the switch")
        found = Table.objects.get(cluster__name="newer", name=table.typed)
        wait_until(lambda: Table.objects.get(pk=found.pk).rows_visible == 7, 60.0, "rows of the new side")
        assert found.schema["schemaName"] == table.raw
        row = Cluster.objects.get(name="newer")
        wait_until(lambda: Cluster.objects.get(name="newer").mirrored_at is not None, 60.0, "a full round")
        assert (row.state, row.version.partition("-")[0], row.pinot_name) == (UP, driven.version, controller.cluster)
        assert Cluster.objects.get(name="newer").mirror_error == ""
    finally:
        fleet.stop()


def rows(table: str) -> dict[str, bool]:
    """{segment: is it visible}"""
    return dict(
        Segment.objects.filter(table__cluster__name="newer", table__name=table).values_list("name", "is_visible")
    )
