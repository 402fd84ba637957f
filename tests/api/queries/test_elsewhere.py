"""Queries of another web process are listed and cancelled from here, by whom they belong to, over real sockets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from segments import wiring
from segments.errors import NotFound
from segments.gateways.servers import HttpServers
from segments.models import AuditEvent
from segments.services.core.context import Actor, Context
from segments.services.queries.elsewhere import all_running, cancel
from segments.services.queries.running import RunningQueries, running_queries
from segments.store import paths
from segments.store.records.instances import join
from tests.api.cluster import ApiCluster, served
from tests.security.sizes.test_bodies import Web
from tests.services.embedded_engine import with_servers

SECRET = "the secret of this cluster, long and random"


@pytest.fixture
def cluster(tmp_path: Path, transactional_db: None, settings: Any) -> Iterator[ApiCluster]:
    settings.ALLOWED_HOSTS = ["*"]
    settings.CLUSTER_SECRET = SECRET
    with served(tmp_path) as made:
        yield made


@pytest.fixture
def here(cluster: ApiCluster, settings: Any) -> Iterator[Context]:
    """A web process that runs nothing itself; the process of this test is the other one, at a socket."""
    other = Web()
    settings.HOST, settings.PORT = "127.0.0.1", other.port
    join(cluster.memory, f"Broker_127.0.0.1_{other.port}", "127.0.0.1", other.port, ["DefaultTenant_BROKER"])
    cluster.memory.delete(paths.live_instance("Broker_127.0.0.1_9000"))
    servers = HttpServers(SECRET)
    with wiring.use(cluster.ctx):
        yield with_servers(cluster.ctx, servers)
    servers.close()
    other.close()


def person(cluster: ApiCluster, name: str, **more: bool) -> User:
    cluster.as_user(name, **more)
    return User.objects.get(username=name)


def test_a_query_of_another_process_is_seen_and_ended_by_its_owner_and_by_nobody_else(
    cluster: ApiCluster, here: Context
) -> None:
    ann, bob, mine = person(cluster, "ann"), person(cluster, "bob"), RunningQueries()
    with running_queries().running(ann, "test", "select 1", "report") as query:
        [seen] = all_running(here, mine, ann)
        assert (seen.id, seen.owner, seen.sql, seen.client_id) == (query.id, "ann", "select 1", "report")
        assert all_running(here, mine, bob, of_all=True) == []
        for name in (query.id, "report"):
            with pytest.raises(NotFound):
                cancel(here, mine, bob, Actor("bob"), name)
        assert not query.stop.is_set
        assert cancel(here, mine, ann, Actor("ann", "wrong"), "report") == [query.id]
        assert query.stop.is_set
    event = AuditEvent.objects.get(action="cancelQuery", outcome="done")
    assert (event.actor, event.target, event.detail["owner"]) == ("ann", query.id, "ann")


def test_an_administrator_ends_any_of_them(cluster: ApiCluster, here: Context) -> None:
    ann, root, mine = person(cluster, "ann"), person(cluster, "root", superuser=True), RunningQueries()
    with running_queries().running(ann, "test", "select 1") as query, mine.running(root, "test", "select 2") as own:
        assert {found.id for found in all_running(here, mine, root, of_all=True)} == {query.id, own.id}
        assert [found.id for found in all_running(here, mine, root)] == [own.id]
        assert cancel(here, mine, root, Actor("root"), query.id) == [query.id]
        assert (query.stop.is_set, own.stop.is_set) == (True, False)


def test_a_process_that_does_not_answer_hides_nothing_of_the_others(cluster: ApiCluster, here: Context) -> None:
    join(cluster.memory, "Broker_127.0.0.1_1", "127.0.0.1", 1, ["DefaultTenant_BROKER"])
    ann = person(cluster, "ann")
    with running_queries().running(ann, "test", "select 1") as query:
        assert [found.id for found in all_running(here, RunningQueries(), ann)] == [query.id]
