"""The page of instances: alive or down, and what each server holds."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from segments import wiring
from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Unavailable
from segments.models import AuditEvent
from segments.services.rebalance import drain
from segments.store import paths
from segments.store.records.instances import instance_configs, join
from segments.store.update import update_record
from tests.services.embedded_engine import asking
from tests.services.world import World

PAGE = "/console/servers/"


@pytest.fixture
def cluster(world: World, db: None) -> World:
    """A server that answers, one that does not, one that is gone, and a broker."""
    for port in (8001, 8002, 8003):
        join(world.memory, f"Server_h_{port}", "h", port, ["DefaultTenant_OFFLINE"], adminPort=str(port))
    join(world.memory, "Broker_h_8099", "h", 8099, ["DefaultTenant_BROKER"])
    world.memory.delete(paths.live_instance("Server_h_8003"))

    def ask(url: str, *_: Any) -> Any:
        if url.endswith("8001"):
            return {"tables": ["t_OFFLINE"]}
        raise Unavailable("silent")

    world.ctx = asking(world.ctx, ask)
    return world


def test_every_instance_is_listed_with_its_state_and_its_tables(viewer: Client, cluster: World) -> None:
    with wiring.use(cluster.ctx, None):
        text = viewer.get(PAGE).content.decode()
    found = {r.split("</span>")[0]: r for r in text.split('<span class="mono nowrap">')[1:]}
    assert "alive" in found["Server_h_8001"]
    assert "/console/tables/t_OFFLINE/" in found["Server_h_8001"]
    assert "does not answer" in found["Server_h_8002"]
    assert "not known" in found["Server_h_8002"]
    assert "down" in found["Server_h_8003"]
    assert "alive" in found["Broker_h_8099"]
    assert list(found)[-1] == "Broker_h_8099"


def test_a_cluster_that_does_not_answer_is_reported(viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_: object = None) -> None:
        raise Unavailable("ZooKeeper does not answer.", remedy="Wait.")

    monkeypatch.setattr(wiring, "context", away)
    answer = viewer.get(PAGE)
    assert answer.status_code == 503
    assert "ZooKeeper does not answer." in answer.content.decode()


def test_a_stranger_is_sent_to_the_log_in(client: Client) -> None:
    assert client.get(PAGE)["Location"].startswith("/login/")


def test_a_server_is_disabled_with_a_reason_and_enabled(operator: Client, viewer: Client, cluster: World) -> None:
    with wiring.use(cluster.ctx, None):
        assert "Disable…" in operator.get(PAGE).content.decode()
        assert "Disable…" not in viewer.get(PAGE).content.decode()
        assert viewer.post(f"{PAGE}Server_h_8001/disable/", {"reason": "x"}).status_code == 403
        assert operator.post(f"{PAGE}Server_h_8001/disable/", {"reason": ""}).status_code == 422
        text = operator.post(f"{PAGE}Server_h_8001/disable/", {"reason": "new disks"}, follow=True).content.decode()
        assert "is disabled" in text
        assert "Enable it" in text
        assert not instance_configs(cluster.memory)["Server_h_8001"].is_enabled
        operator.post(f"{PAGE}Server_h_8001/enable/", {"reason": "done"})
        assert instance_configs(cluster.memory)["Server_h_8001"].is_enabled
        assert operator.post(f"{PAGE}Server_nobody_1/disable/", {"reason": "x"}).status_code == 404
    assert [e.action for e in AuditEvent.objects.filter(outcome="done").order_by("id")] == [
        "disableInstance",
        "enableInstance",
    ]


def test_a_server_is_drained_with_a_reason_and_given_back(operator: Client, viewer: Client, cluster: World) -> None:
    with wiring.use(cluster.ctx, None):
        update_record(
            cluster.memory, paths.ideal_state("t_OFFLINE"),
            lambda _: ZNRecord("t_OFFLINE", maps={"a": {"Server_h_8001": "ONLINE"}, "b": {"Server_h_8001": "ONLINE"}}),
        )  # fmt: skip
        assert "Drain…" not in viewer.get(PAGE).content.decode()
        asked = operator.get(f"{PAGE}Server_h_8001/drain/").content.decode()
        assert "t_OFFLINE: 2 segments" in asked
        assert viewer.post(f"{PAGE}Server_h_8001/drain/", {"reason": "x"}).status_code == 403
        text = operator.post(f"{PAGE}Server_h_8001/drain/", {"reason": "new disks"}, follow=True).content.decode()
        assert "is being drained" in text
        assert "draining" in text
        assert "Give it back…" in text
        assert "2 segments to go" in operator.get(f"{PAGE}Server_h_8001/undrain/").content.decode()
        operator.post(f"{PAGE}Server_h_8001/undrain/", {"reason": "done"})
        assert instance_configs(cluster.memory)["Server_h_8001"].tags == ("DefaultTenant_OFFLINE",)
        cluster.memory.delete(paths.live_instance("Server_h_8002"))
        cluster.memory.delete(paths.live_instance("Server_a_1"))
        refused = operator.get(f"{PAGE}Server_h_8001/drain/").content.decode()
        assert "only 0 enabled servers with the tag" in refused
        assert operator.get(f"{PAGE}Broker_h_8099/drain/").status_code == 400


def test_a_drained_server_says_what_is_to_be_done_with_it(operator: Client, cluster: World) -> None:
    def place(rows: dict[str, dict[str, str]]) -> None:
        update_record(cluster.memory, paths.ideal_state("t_OFFLINE"), lambda _: ZNRecord("t_OFFLINE", maps=rows))

    with wiring.use(cluster.ctx, None):
        place({"a": {"Server_h_8001": "ONLINE"}})
        text = operator.post(f"{PAGE}Server_h_8001/drain/", {"reason": "new disks"}, follow=True).content.decode()
        assert "Nothing is left on it" not in text
        place({})
        drain.keep(cluster.ctx)
        assert "Nothing is left on it. Stop it for good." in operator.get(PAGE).content.decode()
        cluster.memory.delete(paths.live_instance("Server_h_8001"))
        assert (
            "Nothing is left on it. DELETE /instances/Server_h_8001 removes it." in operator.get(PAGE).content.decode()
        )
