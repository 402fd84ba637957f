"""Several clusters in the console: addresses that name one, what each page shows and does, and one that is down."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from segments import wiring
from segments.models import AuditEvent, Cluster, Grant, Table
from segments.services.core.page_addresses import default_cluster
from tests.console.conftest import logged_in
from tests.factories import make_entry, make_event, make_finding, make_push, make_run, make_segments, make_table
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.services.world import World

PROD = "/console/c/prod"


@pytest.fixture
def prod(world: World, tmp_path: Path, db: None) -> Iterator[PinotCluster]:
    """Cluster ``prod``: a Pinot that is up, with table t_OFFLINE as the mirror knows it; the own cluster has one of
    that name, too.
    """
    pinot = PinotCluster(tmp_path / "prod")
    pinot.inside.upload("a", "theirs")
    row = Cluster.objects.create(
        name="prod",
        kind="pinot",
        controller_urls=["http://controller:9000"],
        state="up",
        version="1.5.1",
        mirrored_at=timezone.now(),
    )
    make_segments(make_table("t_OFFLINE", rows_visible=11_111), "ours")
    theirs = make_table("t_OFFLINE", cluster=row, rows_visible=99_999)
    make_segments(theirs, "theirs")
    make_table("only_prod_OFFLINE", cluster=row)
    with wiring.use_cluster(pinot.ctx):
        yield pinot


def down(**more: Any) -> None:
    since = timezone.now() - timedelta(minutes=7)
    Cluster.objects.filter(name="prod").update(
        state="down", state_since=since, mirrored_at=since, last_error="Connection refused.", **more
    )


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.status_code)
    return str(answer.content.decode())


def test_the_address_says_which_cluster_a_page_is_about(operator: Client, prod: PinotCluster) -> None:
    own, theirs = page(operator, "/"), page(operator, f"{PROD}/")
    assert "only_prod_OFFLINE" in theirs
    assert "only_prod_OFFLINE" not in own
    assert "11,111" in page(operator, "/console/tables/t_OFFLINE/")
    assert "99,999" in page(operator, f"{PROD}/tables/t_OFFLINE/")
    assert "theirs" in page(operator, f"{PROD}/tables/t_OFFLINE/segments/")
    assert operator.get(f"{PROD}/tables/t_OFFLINE/segments/ours/").status_code == 404
    assert operator.get("/console/tables/only_prod_OFFLINE/").status_code == 404


#: Addresses that belong to no cluster.
OF_THE_INSTALLATION = (
    "/static/", "/api/docs/", "/console/clusters/", "/console/tokens/", "/console/time-zone/", "/console/settings/",
)  # fmt: skip


def test_every_link_of_every_page_stays_with_its_cluster(operator: Client, prod: PinotCluster) -> None:
    theirs = Table.objects.get(cluster__name="prod", name="t_OFFLINE")
    make_entry(theirs)
    push = make_push(cluster="prod", table_name="t")
    make_finding(cluster="prod", table_name="t_OFFLINE")
    make_run(cluster="prod", table_name="t_OFFLINE")
    event = make_event(cluster="prod", target="t_OFFLINE")
    pages = [
        "",
        "tables/t_OFFLINE/",
        "tables/t_OFFLINE/segments/",
        "tables/t_OFFLINE/segments/theirs/",
        "tables/t_OFFLINE/lineage/",
        "tables/t_OFFLINE/passes/",
        "tables/t_OFFLINE/audit/",
        "tables/t_OFFLINE/config/",
        "pushes/",
        "pushes/new/",
        f"pushes/{push.pk}/",
        "query/",
        "passes/",
        "findings/",
        "audit/",
        f"audit/{event.pk}/",
        "servers/",
        "cluster/",
    ]
    left: dict[str, set[str]] = {}
    for address in pages:
        text = page(operator, f"{PROD}/{address}")
        text = re.sub(r'<details class="switcher".*?</details>', "", text, flags=re.DOTALL)
        links = set(re.findall(r'(?:href|action|hx-get|hx-post|formaction)="(/[^"]*)"', text))
        left[address] = {u for u in links if not u.startswith((f"{PROD}/", *OF_THE_INSTALLATION))}
    assert {a: found for a, found in left.items() if found} == {}


def test_an_administrator_reaches_the_schedules_from_another_clusters_page(prod: PinotCluster) -> None:
    """The admin is mounted once, beside all clusters."""
    root = logged_in("root", is_superuser=True)
    for address in ("", "passes/", "servers/", "pushes/", "findings/", "audit/", "tables/t_OFFLINE/passes/"):
        page(root, f"{PROD}/{address}")
    assert f'href="{reverse("admin:django_celery_beat_periodictask_changelist")}"' in page(root, f"{PROD}/passes/")


def test_lists_show_what_belongs_to_the_pages_cluster(operator: Client, prod: PinotCluster) -> None:
    for cluster, actor in (("pinotadmin", "olivia"), ("prod", "petra"), ("", "nobody")):
        make_event(cluster=cluster, actor=actor)
        make_push(cluster=cluster or "gone", actor=actor)
        make_finding(cluster=cluster or "gone", message=f"seen by {actor}")
        make_run(cluster=cluster or "gone", sentences=[f"done for {actor}"])
    for address in ("pushes/", "findings/", "passes/", "audit/"):
        own, theirs = page(operator, f"/console/{address}"), page(operator, f"{PROD}/{address}")
        assert ("olivia" in own, "petra" in own, "olivia" in theirs, "petra" in theirs) == (True, False, False, True), (
            address
        )
    csv = b"".join(operator.get(f"{PROD}/audit/csv/").streaming_content).decode()
    assert "petra" in csv
    assert "olivia" not in csv
    assert "nobody" in page(operator, "/console/audit/")


def test_a_push_under_the_wrong_cluster_leads_to_its_own(operator: Client, prod: PinotCluster) -> None:
    push = make_push(cluster="prod")
    assert operator.get(f"/console/pushes/{push.pk}/")["Location"] == f"{PROD}/pushes/{push.pk}/"
    assert operator.post(f"/console/pushes/{push.pk}/cancel/", {"reason": "x"}).status_code == 404


def test_a_button_works_on_its_cluster_and_leads_back_there(operator: Client, prod: PinotCluster) -> None:
    done = operator.post(f"{PROD}/tables/t_OFFLINE/segments/theirs/reload/", {"reason": "looks odd"})
    assert (done.status_code, done["Location"]) == (302, f"{PROD}/tables/t_OFFLINE/segments/theirs/")
    event = AuditEvent.objects.filter(action__contains="reload").latest("id")
    assert (event.cluster, event.actor, event.reason) == ("prod", "olga", "looks odd")


def test_queries_go_to_the_brokers_of_the_pages_cluster(operator: Client, prod: PinotCluster, broker: Any) -> None:
    asked: list[str] = []
    query = prod.broker.query
    prod.broker.query = lambda sql, options=None: asked.append(sql) or query(sql, options)  # type: ignore[method-assign,func-returns-value]
    operator.post(f"{PROD}/query/", {"sql": "select count(*) from t"}, headers={"HX-Request": "true"})
    assert (asked, broker.asked) == (["select count(*) from t"], [])
    operator.post("/console/query/", {"sql": "select 1"})
    assert broker.asked == ["select 1"]


def test_an_unknown_cluster_is_a_page_that_says_so_and_leads_home(
    operator: Client, prod: PinotCluster, client: Client
) -> None:
    answer = operator.get("/console/c/nothing/tables/t_OFFLINE/")
    text = answer.content.decode()
    assert answer.status_code == 404
    assert "Cluster &#x27;nothing&#x27; does not exist" in text
    assert "/console/c/nothing" not in text
    assert client.get("/console/c/nothing/")["Location"] == "/login/?next=/console/c/nothing/"
    assert operator.get("/console/c/prod")["Location"] == f"{PROD}/"
    assert operator.get(f"{PROD}/no/such/page/", headers={"Accept": "text/html"}).status_code == 404
    assert reverse("console:tables") == "/"


def test_no_api_hides_behind_the_address_of_a_cluster(operator: Client, prod: PinotCluster) -> None:
    for address in ("tables", "segments/t", "admin/", "schemas", "health"):
        assert operator.get(f"{PROD}/{address}").status_code in (301, 404), address
    assert operator.post(f"{PROD}/schemas", "{}", "application/json").status_code == 404


def test_the_switcher_names_every_cluster_with_its_state(viewer: Client, prod: PinotCluster) -> None:
    down()
    text = page(viewer, "/console/findings/")
    switcher = text[text.index('<details class="switcher"') : text.index("</details>")]
    assert re.search(r'href="/" aria-current="true"><span class="mono">pinotadmin', switcher)
    assert re.search(
        r'href="/console/c/prod/"><span class="mono">prod</span><span class="badge badge-bad">.*?down', switcher, re.S
    )


def test_every_page_of_a_cluster_that_is_down_says_so_with_the_age_of_what_it_shows(
    operator: Client, prod: PinotCluster
) -> None:
    down()
    prod.rest.down = {"controller"}
    for address in (
        "",
        "tables/t_OFFLINE/",
        "tables/t_OFFLINE/segments/",
        "pushes/",
        "findings/",
        "query/",
        "audit/",
        "cluster/",
    ):
        text = page(operator, f"{PROD}/{address}")
        assert "Cluster prod is down since" in text, address
        assert "Connection refused." in text
        assert re.search(r"as they were <time[^>]*>[^<]*<span class=\"ago\">7 min ago", text), address
    assert "99,999" in page(operator, f"{PROD}/tables/t_OFFLINE/")
    assert "is down" not in page(operator, "/console/audit/").partition("<main")[2]


def test_no_page_of_a_cluster_that_is_down_is_a_fault_of_ours(operator: Client, prod: PinotCluster) -> None:
    theirs = Table.objects.get(cluster__name="prod", name="t_OFFLINE")
    make_entry(theirs)
    make_table("s_REALTIME", cluster=theirs.cluster, type="REALTIME")
    down()
    prod.rest.down = {"controller"}
    entry = "tables/t_OFFLINE/lineage/entry-1/"
    reading = [
        "servers/", "health/", "tables/t_OFFLINE/deleted/", "tables/t_OFFLINE/checks/", entry, f"{entry}rollback/",
        "tables/s_REALTIME/consumption/", "tables/t_OFFLINE/diff/?from=entry-1",
    ]  # fmt: skip
    for address in reading:
        answer = operator.get(f"{PROD}/{address}")
        assert answer.status_code < 500, (address, answer.status_code)
        assert "Traceback" not in answer.content.decode()
    writing = {
        "tables/t_OFFLINE/segments/theirs/reload/": {},
        "passes/run/": {"task": "RetentionManager"},
        "query/": {"sql": "select 1"},
        "tables/s_REALTIME/consumption/pause/": {},
    }
    for address, values in writing.items():
        answer = operator.post(f"{PROD}/{address}", {"reason": "x", **values})
        assert 400 <= answer.status_code < 500 or answer.status_code == 200, (address, answer.status_code)


def test_the_banner_asks_again_and_says_something_only_when_it_is_new(viewer: Client, prod: PinotCluster) -> None:
    assert 'hx-get="/console/c/prod/cluster/banner/?seen="' in page(viewer, f"{PROD}/")
    assert viewer.get(f"{PROD}/cluster/banner/?seen=").status_code == 204
    down()
    told = viewer.get(f"{PROD}/cluster/banner/?seen=")
    assert "is down since" in told.content.decode()
    assert viewer.get(f"{PROD}/cluster/banner/?seen=down").status_code == 204
    Cluster.objects.filter(name="prod").update(
        state="up", mirror_error="ZooKeeper is away.", mirror_error_since=timezone.now()
    )
    assert "not up to date" in viewer.get(f"{PROD}/cluster/banner/?seen=down").content.decode()
    Cluster.objects.filter(name="prod").update(mirror_error="")
    assert "role=" not in viewer.get(f"{PROD}/cluster/banner/?seen=down").content.decode()


def test_pages_of_the_own_cluster_say_how_far_a_mirror_is_that_reads_everything(
    viewer: Client, prod: PinotCluster
) -> None:
    own, _ = Cluster.objects.get_or_create(name=default_cluster())
    assert "cluster-banner" not in page(viewer, reverse("console:tables"))
    Cluster.objects.filter(pk=own.pk).update(mirror_progress="3 of 40 tables")
    assert "are being read: 3 of 40 tables so far" in page(viewer, reverse("console:tables"))
    asked = f"{reverse('console:cluster_banner')}?seen=3+of+40+tables"
    assert viewer.get(asked).status_code == 204
    Cluster.objects.filter(pk=own.pk).update(mirror_progress="")
    assert f"All tables of cluster {own.name} are read." in viewer.get(asked).content.decode()


def test_what_the_version_lacks_is_reported_with_the_reason_and_cannot_be_asked_for(
    operator: Client, prod: PinotCluster
) -> None:
    make_table("s_REALTIME", cluster=Cluster.objects.get(name="prod"), type="REALTIME")
    Cluster.objects.filter(name="prod").update(version="0.10.0")
    text = page(operator, f"{PROD}/cluster/")
    assert "cannot pause the consumption of a table. Pinot 0.11.0 has it." in text
    asked = operator.get(f"{PROD}/tables/s_REALTIME/consumption/pause/").content.decode()
    assert "This cannot be done now." in asked
    assert "Pinot 0.10.0 cannot pause the consumption of a table" in asked
    refused = operator.post(f"{PROD}/tables/s_REALTIME/consumption/pause/", {"reason": "x"})
    assert refused.status_code == 409
    assert "Pinot 0.10.0 cannot pause" in refused.content.decode()


def test_pages_of_a_pinot_promise_nothing_that_pinot_does_not_keep(prod: PinotCluster) -> None:
    root = logged_in("root", is_superuser=True)
    table = Table.objects.get(cluster__name="prod", name="t_OFFLINE")
    make_entry(table, state="IN_PROGRESS", segments_from=["a"], segments_to=["b", "c"])
    make_segments(table, "a")
    deleting = page(root, f"{PROD}/tables/t_OFFLINE/delete/?s=a")
    assert "They cannot be restored from here" in deleting
    assert "restored from the tab Deleted" not in deleting
    assert "Pinot does not bring deleted segments back" in page(root, f"{PROD}/tables/t_OFFLINE/deleted/")
    pin = page(root, f"{PROD}/tables/t_OFFLINE/pin/?e=entry-1")
    assert "Pinot does not know pins" in pin
    server = "Server_a_1"
    disable = page(root, f"{PROD}/servers/{server}/disable/")
    assert "Pinot takes all its segments offline" in disable
    assert "nobody notices" not in disable
    assert "nobody notices" in page(root, f"/console/servers/{server}/disable/")
    assert "1 segment is being replaced by 2; queries see the old side" in page(root, f"{PROD}/tables/t_OFFLINE/")
    Cluster.objects.filter(name="prod").update(version="0.11.0-1b4d6b6b0a27422c1552ea1a936ad145056f7033")
    cluster = page(root, f"{PROD}/cluster/")
    assert "Apache Pinot 0.11.0<" in cluster
    assert "done in another way" in cluster


def test_a_table_that_keeps_copies_says_that_its_segments_come_back(prod: PinotCluster) -> None:
    root = logged_in("root", is_superuser=True)
    table = Table.objects.get(cluster__name="prod", name="t_OFFLINE")
    table.config = {**table.config, "metadata": {"customConfigs": {"pinotadmin.deletion.keepCopies": "true"}}}
    table.save()
    assert "restored from the tab Deleted" in page(root, f"{PROD}/tables/t_OFFLINE/delete/?s=a")
    assert "Copies of segments that are deleted from here" in page(root, f"{PROD}/tables/t_OFFLINE/deleted/")


def test_a_grant_opens_the_buttons_of_its_tables_only(prod: PinotCluster) -> None:
    ann = logged_in("ann")
    Grant.objects.create(user=User.objects.get(username="ann"), cluster="prod", tables="t", right="operate")
    reload = "segments/theirs/reload/"
    assert "Needs the right" not in page(ann, f"{PROD}/tables/t_OFFLINE/{reload}")
    assert ann.post(f"{PROD}/tables/t_OFFLINE/{reload}", {"reason": "x"}).status_code == 302
    assert "Needs the right" in page(ann, f"{PROD}/tables/only_prod_OFFLINE/{reload}")
    assert ann.post(f"{PROD}/tables/only_prod_OFFLINE/{reload}", {"reason": "x"}).status_code == 403
    assert ann.post("/console/tables/t_OFFLINE/segments/ours/reload/", {"reason": "x"}).status_code == 403
    assert ann.post(f"{PROD}/passes/run/", {"task": "RetentionManager", "reason": "x"}).status_code == 403
    assert "disabled>New push" not in page(ann, f"{PROD}/")
    assert "disabled>New push" in page(ann, "/")
