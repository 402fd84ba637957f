"""Instances and cluster settings on every kind of cluster: the same change, the same refusal, the same record."""

from __future__ import annotations

import pytest

from segments.errors import NotFound, StateConflict
from segments.models import AuditEvent
from segments.services.clusters import cluster_settings, instances
from segments.services.core.context import Context
from tests.services.world import ANN

pytestmark = pytest.mark.django_db
KEY = "pinotadmin.suite"
NOBODY = "Server_nobody_1"


def events(ctx: Context) -> list[tuple[str, str]]:
    """(action, outcome) of what is on record of this cluster, in order."""
    found = AuditEvent.objects.filter(cluster=ctx.cluster).order_by("pk")
    return list(found.values_list("action", "outcome"))


def add(ctx: Context) -> str:
    return instances.add_instance(ctx, host="10.0.0.9", port=8098, kind="server", tags=["mine_OFFLINE"], actor=ANN)


def alive_server(ctx: Context) -> str:
    servers = (i for i in instances.list_instances(ctx) if i.startswith("Server_"))
    return next(i for i in servers if instances.instance_json(ctx, i)["isAlive"])


def test_a_setting_is_set_changed_and_removed_with_the_difference_on_record(ctx: Context) -> None:
    for value in ("one", "two"):
        cluster_settings.set_settings(ctx, {KEY: value}, actor=ANN)
        assert cluster_settings.read_settings(ctx)[KEY] == value
    cluster_settings.remove_setting(ctx, KEY, actor=ANN)
    assert KEY not in cluster_settings.read_settings(ctx)
    with pytest.raises(NotFound, match=KEY):
        cluster_settings.remove_setting(ctx, KEY, actor=ANN)
    assert events(ctx) == [("setClusterConfigs", "done")] * 2 + [("deleteClusterConfig", "done")]
    changed = AuditEvent.objects.filter(cluster=ctx.cluster, action="setClusterConfigs").latest("pk")
    assert changed.detail["diff"] == [{"path": KEY, "before": "one", "after": "two"}]


def test_an_instance_is_registered_once_taken_out_of_service_and_forgotten(ctx: Context) -> None:
    name = add(ctx)
    assert name in instances.list_instances(ctx)
    with pytest.raises(StateConflict):
        add(ctx)
    # Not enabled again: a real Pinot waits until it is alive, and says that this failed.
    instances.set_instance_state(ctx, name, is_enabled=False, actor=ANN)
    assert instances.instance_json(ctx, name)["enabled"] is False
    shown = instances.instance_json(ctx, name)
    assert (shown["tags"], shown["isAlive"]) == (["mine_OFFLINE"], False)
    instances.drop_instance(ctx, name, actor=ANN)
    assert name not in instances.list_instances(ctx)
    done = ("disableInstance", "done"), ("dropInstance", "done")
    assert events(ctx) == [("addInstance", "done"), ("addInstance", "refused"), *done]


def test_an_instance_that_is_alive_is_disabled_and_enabled_again(simulated: Context) -> None:
    name = alive_server(simulated)
    for is_enabled in (False, True):
        instances.set_instance_state(simulated, name, is_enabled=is_enabled, actor=ANN)
        assert instances.instance_json(simulated, name)["enabled"] is is_enabled
    assert events(simulated) == [("disableInstance", "done"), ("enableInstance", "done")]


def test_an_instance_that_never_joined_is_not_found_and_the_refusal_is_on_record(ctx: Context) -> None:
    with pytest.raises(NotFound):
        instances.set_instance_state(ctx, NOBODY, is_enabled=False, actor=ANN)
    with pytest.raises(NotFound):
        instances.drop_instance(ctx, NOBODY, actor=ANN)
    assert events(ctx) == [("disableInstance", "refused"), ("dropInstance", "refused")]


def test_an_instance_that_is_alive_is_not_forgotten(ctx: Context) -> None:
    alive = alive_server(ctx)
    with pytest.raises(StateConflict):
        instances.drop_instance(ctx, alive, actor=ANN)
    assert alive in instances.list_instances(ctx)
    assert events(ctx) == [("dropInstance", "refused")]
