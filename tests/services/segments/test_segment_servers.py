"""Segments are placed on servers that carry the table's tag, also those of OFFLINE tables; tagOverrideConfig comes
before the tenant.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.clusters.embedded.segments.segment_servers import segment_servers
from segments.domain.tables.server_tags import check_tags, consuming_tag, segment_tag
from segments.domain.tables.table_config import TableConfig, parse_table_config
from segments.errors import InvalidInput
from segments.services.segments import deletion
from segments.services.segments.restore import restore_segments
from segments.services.segments.uploads import upload_tar
from segments.services.tables import schemas, tables
from segments.services.tables.table_record import read_table_config
from segments.store import paths
from segments.store.records.instances import instance_configs, join
from tests.api.cluster import ANN, TABLE, ApiCluster, config_of, schema_of
from tests.services.realtime_world import RealtimeWorld

pytestmark = pytest.mark.django_db


def realtime(**tenants: Any) -> TableConfig:
    return parse_table_config({"tableName": "t", "tableType": "REALTIME", "tenants": tenants})


@pytest.mark.parametrize(
    ("tenants", "consuming", "completed"),
    [
        ({}, "DefaultTenant_REALTIME", "DefaultTenant_REALTIME"),
        ({"server": "a"}, "a_REALTIME", "a_REALTIME"),
        ({"server": "a", "tagOverrideConfig": {"realtimeConsuming": "b_REALTIME"}}, "b_REALTIME", "b_REALTIME"),
        ({"server": "a", "tagOverrideConfig": {"realtimeCompleted": "c_OFFLINE"}}, "a_REALTIME", "c_OFFLINE"),
        (
            {"tagOverrideConfig": {"realtimeConsuming": "b_REALTIME", "realtimeCompleted": "c_OFFLINE"}},
            "b_REALTIME",
            "c_OFFLINE",
        ),
    ],
)
def test_an_override_comes_before_the_tenant_and_is_a_whole_tag(
    tenants: dict[str, Any], consuming: str, completed: str
) -> None:
    config = realtime(**tenants)
    check_tags(config)
    assert (consuming_tag(config), segment_tag(config)) == (consuming, completed)


@pytest.mark.parametrize("table_type", ["OFFLINE", "REALTIME"])
def test_an_override_that_is_no_tag_of_servers_or_cannot_hold_is_refused(table_type: str) -> None:
    tag = "b" if table_type == "REALTIME" else "b_OFFLINE"
    tenants = {"tagOverrideConfig": {"realtimeConsuming": tag}}
    config = parse_table_config({"tableName": "t", "tableType": table_type, "tenants": tenants})
    with pytest.raises(InvalidInput, match="realtimeConsuming"):
        check_tags(config)


def test_partitions_are_consumed_by_the_servers_that_the_override_names(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, create=False)
    join(world.memory, "Server_s_9000", "s", 9000, ["fast_REALTIME"])
    world.create(
        replication=1, tenants={"server": "DefaultTenant", "tagOverrideConfig": {"realtimeConsuming": "fast_REALTIME"}}
    )
    assert {i for row in world.ideal.maps.values() for i in row} == {"Server_s_9000"}


@pytest.fixture
def cluster(tmp_path: Path, settings: Any) -> ApiCluster:
    """Servers 8098 and 8198 of the default tenant, 9000 of another."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    made = ApiCluster(tmp_path / "c")
    join(made.memory, "Server_127.0.0.1_9000", "127.0.0.1", 9000, ["mine_OFFLINE"])
    schemas.create_schema(made.ctx, schema_of(), override=False, actor=ANN)
    return made


def test_an_offline_table_is_held_by_servers_of_its_tenant_only(cluster: ApiCluster) -> None:
    tables.create_table(cluster.ctx, config_of(tenants={"server": "mine"}, replication=3), actor=ANN)
    upload_tar(cluster.ctx, TABLE, cluster.build("s0"), actor=ANN)
    assert cluster.ideal == {"s0": {"Server_127.0.0.1_9000": "ONLINE"}}


def test_a_restored_segment_goes_to_servers_of_the_tenant_that_the_table_has_now(cluster: ApiCluster) -> None:
    tables.create_table(cluster.ctx, config_of(), actor=ANN)
    upload_tar(cluster.ctx, TABLE, cluster.build("s0"), actor=ANN)
    deletion.remove_segments(cluster.ctx, TABLE, ["s0"], actor=ANN)
    deletion.drain(cluster.ctx, TABLE)
    tables.update_table(cluster.ctx, "t", config_of(tenants={"server": "mine"}), actor=ANN)
    restore_segments(cluster.ctx, TABLE, ["s0"], actor=ANN)
    assert cluster.ideal == {"s0": {"Server_127.0.0.1_9000": "ONLINE"}}


def test_a_tenant_without_a_server_is_refused_when_the_table_is_created_or_changed(cluster: ApiCluster) -> None:
    with pytest.raises(
        InvalidInput,
        match=r"No server carries the tag 'nobody_OFFLINE'.* tags are DefaultTenant_OFFLINE, DefaultTenant_REALTIME, "
        r"mine_OFFLINE",
    ):
        tables.create_table(cluster.ctx, config_of(tenants={"server": "nobody"}), actor=ANN)
    tables.create_table(cluster.ctx, config_of(tenants={"server": "mine"}), actor=ANN)
    with pytest.raises(InvalidInput, match="nobody_OFFLINE"):
        tables.update_table(cluster.ctx, "t", config_of(tenants={"server": "nobody"}), actor=ANN)


def test_other_settings_can_be_changed_when_the_last_server_of_the_tenant_is_gone(cluster: ApiCluster) -> None:
    tables.create_table(cluster.ctx, config_of(tenants={"server": "mine"}), actor=ANN)
    cluster.memory.delete(paths.participant("Server_127.0.0.1_9000"))
    cluster.memory.delete(paths.live_instance("Server_127.0.0.1_9000"))
    tables.update_table(cluster.ctx, "t", config_of(tenants={"server": "mine"}, replication=2), actor=ANN)
    assert not segment_servers(cluster.ctx, read_table_config(cluster.ctx, TABLE)).ready


def test_tags_that_an_operator_gave_a_server_outlast_its_start(cluster: ApiCluster) -> None:
    """A server brings tags of its own, for when it has none: it would otherwise leave its tenant with each start."""
    cluster.memory.delete(paths.live_instance("Server_127.0.0.1_9000"))
    join(cluster.memory.another_client(), "Server_127.0.0.1_9000", "127.0.0.1", 9000, ["DefaultTenant_OFFLINE"])
    assert instance_configs(cluster.memory)["Server_127.0.0.1_9000"].tags == ("mine_OFFLINE",)
