"""Where Pinot's query clients find a broker."""

from __future__ import annotations

import pytest

from segments.store.records.instances import join
from tests.api.cluster import ApiCluster

NAME = "Broker_127.0.0.1_9000"
SECOND = {"instanceName": NAME, "host": "127.0.0.1", "port": 9000}


@pytest.fixture
def brokered(cluster: ApiCluster) -> ApiCluster:
    """A table, the live broker, and one that is gone."""
    cluster.create()
    join(cluster.memory, "Broker_gone_1", "gone", 1, ["DefaultTenant_BROKER"]).leave()
    return cluster


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/brokers", {"tenants": {"DefaultTenant": [NAME]}, "tables": {"t": [NAME]}}),
        ("/brokers/tenants", {"DefaultTenant": [NAME]}),
        ("/brokers/tenants/DefaultTenant", [NAME]),
        ("/brokers/tables", {"t": [NAME]}),
        ("/brokers/tables/t", [NAME]),
        ("/brokers/tables/t_OFFLINE", [NAME]),
        ("/v2/brokers", {"tenants": {"DefaultTenant": [SECOND]}, "tables": {"t": [SECOND]}}),
        ("/v2/brokers/tenants", {"DefaultTenant": [SECOND]}),
        ("/v2/brokers/tenants/DefaultTenant", [SECOND]),
        ("/v2/brokers/tables", {"t": [SECOND]}),
        ("/v2/brokers/tables/t", [SECOND]),
    ],
)
def test_live_brokers_are_reported_by_tenant_and_table(brokered: ApiCluster, path: str, found: object) -> None:
    assert brokered.http.get(path, {"state": "ONLINE"}).json() == found


def test_live_brokers_of_tables_as_clients_poll_them(brokered: ApiCluster) -> None:
    assert brokered.http.get("/tables/livebrokers").json() == {"t_OFFLINE": [SECOND]}
    assert brokered.http.get("/tables/livebrokers", {"tables": ["t", "other"]}).json() == {"t_OFFLINE": [SECOND]}
    assert brokered.http.get("/tables/livebrokers", {"tables": "other"}).json() == {}
    assert brokered.http.get("/tables/t/livebrokers").json() == [NAME]
    assert brokered.http.get("/tables/nope/livebrokers").status_code == 404


def test_brokers_that_are_gone_are_reported_too_when_asked_for(brokered: ApiCluster) -> None:
    assert brokered.http.get("/brokers/tables/t").json() == [NAME, "Broker_gone_1"]
    assert brokered.http.get("/brokers/tables/t", {"state": "offline"}).json() == ["Broker_gone_1"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/brokers?state=asleep", 400), ("/brokers/tenants/nobody", 404), ("/v2/brokers/tenants/nobody", 404),
        ("/brokers/tables/nope", 404), ("/brokers/tables/t_REALTIME", 404),
    ],
)  # fmt: skip
def test_unknown_names_and_states_are_refused(brokered: ApiCluster, path: str, code: int) -> None:
    answer = brokered.http.get(path)
    assert (answer.status_code, bool(answer.json()["error"])) == (code, True)
