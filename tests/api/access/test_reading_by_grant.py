"""Where reading is restricted: who reads which table over REST, and that nothing else shows the others."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from segments.api import fast_path
from segments.dataplane.query import QueryRejected
from segments.dataplane.query.sql.named_tables import named_tables
from segments.errors import Forbidden
from segments.models import AuditEvent, Cluster, Finding, Grant, Push, Table
from segments.services.access.query_rights import require_query_rights
from segments.services.access.read_rights import readable, readable_rows
from segments.services.access.rights import has_right, has_right_everywhere, has_right_somewhere, read_grants
from tests.api.cluster import ApiCluster, basic, config_of
from tests.api.pinot import real_pinot

OWN = "pinotadmin"


def grant(name: str, tables: str, right: str = "read", cluster: str = OWN) -> None:
    Grant.objects.create(user=User.objects.get(username=name), tables=tables, right=right, cluster=cluster)


@pytest.fixture
def restricted(settings: Any) -> None:
    """Reading takes a grant."""
    settings.READ_BY_GRANT = True


@pytest.fixture
def ann(cluster: ApiCluster, restricted: None) -> Client:
    """May read ``t`` and nothing else."""
    cluster.create("t").create("hidden")
    client = cluster.as_user("ann")
    grant("ann", "t")
    return client


@pytest.mark.django_db
def test_every_active_user_reads_everything_unless_reading_is_restricted(settings: Any) -> None:
    ann = User.objects.create_user("ann")
    assert has_right(ann, "read", "prod", "t")
    assert has_right_somewhere(ann, "read", "prod")
    assert read_grants(ann) is None
    settings.READ_BY_GRANT = True
    assert not has_right(ann, "read", "prod", "t")
    assert not has_right_somewhere(ann, "read", "prod")
    assert read_grants(ann) == []


@pytest.mark.django_db
def test_any_right_for_a_table_includes_reading_it_and_reading_includes_no_other(restricted: None) -> None:
    ann = User.objects.create_user("ann")
    for tables, right in (("r_*", "read"), ("o_*", "operate"), ("a_*", "administer")):
        grant("ann", tables, right, "prod")
    assert [has_right(ann, "read", "prod", t) for t in ("r_1", "o_1_OFFLINE", "a_1", "x", None)] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert not has_right(ann, "read", "test", "r_1")
    assert not has_right(ann, "operate", "prod", "r_1")
    assert sorted(read_grants(ann) or []) == [("prod", "a_*"), ("prod", "o_*"), ("prod", "r_*")]


@pytest.mark.parametrize(
    ("permission", "reads"), [("read", True), ("operate", True), ("administer", True), ("view_table", False)]
)
@pytest.mark.django_db
def test_a_permission_for_the_whole_installation_includes_reading_all(
    restricted: None, permission: str, reads: bool
) -> None:
    from django.contrib.auth.models import Permission

    ann = User.objects.create_user("ann")
    ann.user_permissions.add(Permission.objects.get(codename=permission))
    assert has_right_everywhere(ann, "read") is reads
    assert not has_right_everywhere(User(username="away", is_active=False, is_superuser=True), "read")


def test_a_path_of_one_table_answers_only_those_who_may_read_it(ann: Client) -> None:
    paths = ["/tables/{}", "/tables/{}/schema", "/tables/{}/idealstate", "/schemas/{}", "/segments/{}?type=OFFLINE"]
    assert {ann.get(p.format("t")).status_code for p in paths} == {200}
    refused = {ann.get(p.format(name)).status_code for p in paths for name in ("hidden", "hidden_OFFLINE", "missing")}
    assert refused == {403}  # a table that is not there is refused the same way: nothing shows which exist


def test_lists_name_only_what_may_be_read(cluster: ApiCluster, ann: Client) -> None:
    assert ann.get("/tables").json() == {"tables": ["t"]}
    assert ann.get("/tables?type=OFFLINE").json() == {"tables": ["t_OFFLINE"]}
    assert ann.get("/schemas").json() == ["t"]
    for path in (
        "/brokers",
        "/v2/brokers",
        "/brokers/tables",
        "/tables/livebrokers",
        "/tables/livebrokers?tables=hidden_OFFLINE",
    ):
        answer = ann.get(path)
        assert answer.status_code == 200
        assert b"hidden" not in answer.content
    assert cluster.http.get("/tables").json() == {"tables": ["hidden", "t"]}
    assert cluster.as_user("nobody").get("/tables").json() == {"tables": []}


@pytest.mark.parametrize(
    "path",
    [
        "/tables/hidden",
        "/tables/hidden/size",
        "/tables/hidden/metadata?type=OFFLINE",
        "/tables/hidden/externalview",
        "/schemas/hidden",
        "/tables/hidden/schema",
        "/tables/hidden/state",
        "/segments/hidden",
        "/segments/hidden/zkmetadata?type=OFFLINE",
        "/segments/hidden/crc",
        "/segments/hidden/servers",
        "/segments/hidden/lineage?type=OFFLINE",
        "/segments/hidden/s",
        "/segments/hidden/s/metadata",
        "/segments/hidden/select",
        "/brokers/tables/hidden",
        "/tables/hidden/livebrokers",
        "/tables/hidden/pauseStatus",
        "/tables/hidden/consumingSegmentsInfo",
        "/api/v1/tables/hidden/checks",
        "/api/v1/tables/hidden/lag",
        "/api/v1/tables/hidden/consumers",
        "/api/v1/tables/hidden/dataLosses",
        "/api/v1/segments/hidden/deleted",
        "/api/v1/segments/hidden/deletions",
        "/api/v1/lineage/hidden/diff?from=current",
        "/api/v1/lineage/hidden/e/explain",
        "/api/v1/tables/hidden/lineage/e/preview",
        "/metrics",
        "/api/v1/tasks",
        "/health/clusters",
    ],
)
def test_nothing_of_another_table_or_of_all_of_them_is_answered(ann: Client, path: str) -> None:
    assert ann.get(path).status_code == 403


@pytest.mark.parametrize(
    "path", ["/version", "/instances", "/cluster/configs", "/periodictask/names", "/api/schema/", "/api/docs/"]
)
def test_what_names_no_table_stays_readable(ann: Client, path: str) -> None:
    assert ann.get(path).status_code == 200


def test_checking_a_config_takes_the_right_to_read_its_table(ann: Client) -> None:
    assert ann.post("/tables/validate", config_of("t"), "application/json").status_code == 200
    assert ann.post("/tables/validate", config_of("hidden"), "application/json").status_code == 403


@pytest.mark.parametrize(
    ("sql", "status"),
    [
        ("select * from t", 200), ('select 1 from "t_OFFLINE" limit 1', 200),
        ("no sql at all", 200), ("select 1 from db.t", 200),
        ("select * from hidden", 403), ("select * from hidden_OFFLINE", 403), ("select * from missing", 403),
        ("select 1 from t.hidden", 403),
        ("set a=1; select * from hidden", 403), ("select * from hidden option(a=1)", 403),
        ("/* t */ select * from hidden -- t", 403),
        ("select * from t a join hidden b on a.n = b.n", 403),
        ("with t as (select * from hidden) select * from t", 403),
        ("with hidden as (select * from t) select * from hidden", 200),
        ("select * from t where n in (select n from \"hidden_OFFLINE\")", 403),
        ("select (select max(n) from hidden) from t", 403),
        ("select 1 from t union all select 1 from default.hidden", 403),
        ("select * from t a join t b on a.n = b.n", 200),
    ],
)  # fmt: skip
def test_a_query_takes_the_right_for_its_table_on_every_way_in(
    cluster: ApiCluster, ann: Client, sql: str, status: int
) -> None:
    assert ann.post("/query/sql", {"sql": sql}, "application/json").status_code == status
    assert ann.get("/sql", {"sql": sql}).status_code == status
    body = json.dumps({"sql": sql}).encode()
    headers = [
        (b"authorization", basic("ann", "a long enough secret").encode()),
        (b"host", b"testserver"),
        (b"content-length", b"1"),
    ]
    scope = {
        "method": "POST",
        "path": "/query/sql",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "query_string": b"",
    }
    answer = fast_path.answer(scope, body)
    assert answer is not None
    assert answer.status == status
    assert cluster.http.post("/query/sql", {"sql": sql}, "application/json").status_code == 200


def test_a_query_costs_no_more_reads_of_the_database_unless_reading_is_restricted(
    cluster: ApiCluster, settings: Any
) -> None:
    cluster.create("t")
    client = cluster.as_user("ann")
    client.post("/query/sql", {"sql": "select * from t"}, "application/json")
    with CaptureQueriesContext(connection) as open_reading:
        client.post("/query/sql", {"sql": "select * from t"}, "application/json")
    settings.READ_BY_GRANT = True
    grant("ann", "t")
    with CaptureQueriesContext(connection) as by_grant:
        assert client.post("/query/sql", {"sql": "select * from t"}, "application/json").status_code == 200
    assert len(open_reading) == 1
    assert sum("segments_grant" in q["sql"] for q in by_grant) == 1


def test_audit_shows_events_of_readable_tables_and_ones_own(cluster: ApiCluster, ann: Client) -> None:
    for actor, action, target in (
        ("root", "updateTable", "t_OFFLINE"), ("root", "updateTable", "hidden_OFFLINE"), ("root", "x", "t_OFFLINE/seg"),
        ("root", "x", "hidden_OFFLINE/t_OFFLINE"), ("ann", "access", "/tables/hidden"), ("root", "createSchema", "t"),
        ("root", "changePassword", "t"), ("root", "disableInstance", "Server_t"),
    ):  # fmt: skip
        AuditEvent.objects.create(actor=actor, action=action, target=target, cluster=OWN, reason="mark")
    found = {(e["action"], e["target"]) for e in ann.get("/api/v1/audit").json()["events"] if e["reason"] == "mark"}
    assert found == {
        ("updateTable", "t_OFFLINE"),
        ("x", "t_OFFLINE/seg"),
        ("access", "/tables/hidden"),
        ("createSchema", "t"),
    }


def test_pushes_are_listed_and_shown_to_readers_of_their_table(ann: Client) -> None:
    grant("ann", "t", cluster="*")
    mine, other = (Push.objects.create(cluster="test", table_name=name) for name in ("t", "hidden"))
    assert [p["id"] for p in ann.get("/api/v1/pushes").json()["pushes"]] == [str(mine.pk)]
    assert ann.get(f"/api/v1/pushes/{mine.pk}").status_code == 200
    assert ann.get(f"/api/v1/pushes/{other.pk}").status_code == 403


@pytest.mark.parametrize("pattern", ["t", "t_OFFLINE", "*t", "?", "[st]", "[!h]*", "t*", "*"])
@pytest.mark.django_db
def test_rows_and_single_tables_agree_on_what_a_pattern_covers(restricted: None, pattern: str) -> None:
    ann = User.objects.create_user("ann")
    grant("ann", pattern)
    names = ["t_OFFLINE", "t_REALTIME", "hidden_OFFLINE", "tt_OFFLINE", "s_OFFLINE", "a.t_OFFLINE", "T_OFFLINE"]
    for name in names:
        Finding.objects.create(cluster=OWN, table_name=name, code="c", severity="error", message="m")
    Finding.objects.create(cluster="other", table_name="t_OFFLINE", code="c", severity="error", message="m")
    rows = readable_rows(Finding.objects.all(), ann, cluster="cluster", table="table_name")
    may_read = readable(ann, OWN)
    expected = {n for n in names if has_right(ann, "read", OWN, n)}
    assert {r.table_name for r in rows} == expected == {n for n in names if may_read(n)}
    assert all(r.cluster == OWN for r in rows)


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("select * from a join b on a.x=b.y where c in (select d from e)", {"a", "b", "e"}),
        ("with s as (select * from s2) select * from s", {"s", "s2"}),
        ('select 1 from "db"."t" union select 1 from default.u', {"db.t", "u"}),
    ],
)
def test_every_table_of_a_query_to_a_pinot_is_known(sql: str, tables: set[str]) -> None:
    assert named_tables(sql).tables == tables


@pytest.mark.parametrize(
    "sql",
    [
        "select lookup('dim','v','k',x) from t",
        "select x from t where in_subquery(x, 'select id_set(y) from hidden') = 1",
        "select x /* /* */ from hid -- */ from t",
        "select ' option(' || f(x) || 'z from hidden -- ' from t",
        "select 1 from t // x",
        "explain plan for select * from t",
        "show tables",
        "select * from table(f(1))",
        "select 1 from t; select 1 from hidden",
    ],
)
def test_a_query_to_a_pinot_of_which_that_is_not_known_is_refused_to_those_who_may_not_read_all(
    cluster: ApiCluster, restricted: None, sql: str
) -> None:
    with pytest.raises(QueryRejected):
        named_tables(sql)
    ann = User.objects.create_user("ann")
    grant("ann", "t", cluster="prod")
    with pytest.raises(Forbidden):
        require_query_rights(ann, "prod", sql, {}, is_foreign=True)


def test_a_pinot_may_take_names_in_any_case_so_all_that_may_be_meant_count(
    cluster: ApiCluster, restricted: None
) -> None:
    prod = Cluster.objects.create(name="prod", kind="pinot")
    for raw in ("secret", "Sales"):
        Table.objects.create(cluster=prod, name=f"{raw}_OFFLINE", raw_name=raw, type="OFFLINE")
    ann = User.objects.create_user("ann")
    grant("ann", "S*", cluster="prod")

    def ask(sql: str, **options: str) -> None:
        require_query_rights(ann, "prod", sql, options, is_foreign=True)

    ask("select * from Sales")
    ask("with S as (select * from Sales) select * from S")
    for sql in (
        "select * from SECRET",
        "with SECRET as (select * from SECRET) select * from SECRET",
        "set database='x'; select 1 from S",
    ):
        with pytest.raises(Forbidden):
            ask(sql)
    with pytest.raises(Forbidden):
        ask("select 1 from Sales", database="other")


def test_paths_that_are_passed_on_to_a_pinot_take_the_right_for_their_table(
    cluster: ApiCluster, restricted: None
) -> None:
    with real_pinot(cluster):
        client = cluster.as_user("ann")
        grant("ann", "t", cluster="prod")
        assert client.get("/clusters/prod/tables/t").status_code == 200
        assert client.get("/clusters/prod/tables").json() == {"tables": []}
        assert client.get("/clusters/prod/schemas").json() == []
        for path in (
            "tables/hidden",
            "segments/hidden",
            "tableConfigs/hidden",
            "debug/tables/t",
            "tasks/tasktypes",
            "tables/t?database=x",
        ):
            assert client.get(f"/clusters/prod/{path}").status_code == 403
        assert client.get("/clusters/prod/tables/t", headers={"Database": "x"}).status_code == 403
