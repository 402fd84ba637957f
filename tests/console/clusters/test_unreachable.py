"""What cannot be asked of a Pinot cluster while it is unreachable is shown disabled, with the reason, on every page
that has buttons.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from segments import wiring
from segments.clusters.pinot import calls as pinot_calls
from segments.models import Cluster, LineageEntry
from tests.console.conftest import logged_in
from tests.factories import make_entry, make_push, make_segments, make_table
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.pinot_cluster.fake_tasks import FakeTasks
from tests.pinot_cluster.replacement.test_replacement import replaced, started
from tests.services.world import World

PROD = "/console/c/prod/"
T = f"{PROD}tables/t_OFFLINE/"
WHY = "Cluster prod does not answer: this has to wait until it is back."


@pytest.fixture
def prod(world: World, tmp_path: Path, db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[PinotCluster]:
    """A Pinot with ZooKeeper that became unreachable: its row says so, what the mirror knows is there, its ZooKeeper
    still answers.
    """
    monkeypatch.setattr(pinot_calls, "_PAUSE_S", 0.0)
    pinot = PinotCluster(tmp_path / "prod")
    pinot.inside.upload("a")
    row = Cluster.objects.create(
        name="prod",
        kind="pinot",
        controller_urls=["http://controller:9000"],
        zookeeper="zk:2181",
        version="1.5.1",
        state="up",
        mirrored_at=timezone.now(),
    )
    table = make_table("t_OFFLINE", cluster=row)
    make_segments(table, "a")
    make_entry(table, replaced(pinot, ["a"], ["b"]), segments_from=["a"], segments_to=["b"])
    make_entry(table, started(pinot, ["b"], ["c"]), "IN_PROGRESS", segments_from=["b"], segments_to=["c"])
    make_push(cluster="prod", table_name="t", state="DONE")
    pinot.rest.tasks = FakeTasks(queues={"MergeRollupTask": "IN_PROGRESS"})
    with wiring.use_cluster(pinot.ctx):
        yield pinot


@pytest.fixture
def root(prod: PinotCluster) -> Client:
    return logged_in("root", is_superuser=True)


def away(state: str = "down") -> None:
    Cluster.objects.filter(name="prod").update(
        state=state, state_since=timezone.now(), last_error="Connection refused."
    )


def pages() -> dict[str, list[str]]:
    """{page: its buttons that ask the cluster}"""
    done, begun = (
        LineageEntry.objects.filter(table__cluster__name="prod").order_by("id").values_list("entry_id", flat=True)
    )
    return {
        PROD: ["New push"],
        f"{PROD}pushes/": ["New push"],
        f"{PROD}pushes/new/": ["Check and start"],
        f"{PROD}passes/": ["Run now…"],
        f"{PROD}query/": ["Run"],
        T: ["New push"],
        f"{T}passes/": ["Run now…"],
        f"{T}checks/": ["Save the checks"],
        f"{T}segments/": ["Reload selected…", "Reset selected…", "Delete selected…"],
        f"{T}segments/a/": ["Reload…", "Reset…"],
        f"{T}lineage/": ["Revert…"],
        f"{T}lineage/{begun}/": ["End it…", "Run checks…", "Revert…"],
        f"{T}lineage/{done}/": ["Roll back 2 steps…"],
        f"{T}lineage/{begun}/rollback/": ["Roll back t_OFFLINE"],
        f"{T}lineage/{begun}/end/": ["End it"],
        f"{PROD}passes/tasks/": ["Stop…"],
        f"{PROD}passes/tasks/MergeRollupTask/": ["Stop…"],
        f"{PROD}passes/tasks/MergeRollupTask/stop/": ["Stop the queue"],
    }


def buttons(text: str) -> dict[str, bool]:
    """{words of a button: is it enabled}; of links that are styled as one, too."""
    found = re.findall(r'<(a|button) class="button[^"]*"([^>]*)>(.*?)</\1>', text, re.S)
    return {re.sub(r"<.*?>", "", words).strip(): " disabled" not in rest for _, rest, words in found}


def test_every_button_that_asks_the_cluster_is_disabled_with_the_reason_while_it_is_unreachable(
    root: Client, prod: PinotCluster
) -> None:
    before = {address: root.get(address).content.decode() for address in pages()}
    away()
    for address, wanted in pages().items():
        text = root.get(address).content.decode()
        for words in wanted:
            assert buttons(before[address]).get(words) is True, (address, words, buttons(before[address]))
            assert buttons(text).get(words) is False, (address, words, buttons(text))
        assert text.count(WHY) <= 2, address  # an operation says it again in its own place
        assert 'id="why-unreachable"' in text or "This cannot be done now." in text, address


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("refused", "refuses our credentials"),
        ("untrusted", "shows a certificate that is not trusted"),
        ("unexpected", "does not answer as Pinot does"),
        ("wrong-cluster", "is another cluster than the one that was added"),
    ],
)
def test_banner_and_buttons_say_the_same_in_every_state(
    root: Client, prod: PinotCluster, state: str, said: str
) -> None:
    away(state)
    text = root.get(f"{T}segments/").content.decode()
    assert f"Cluster prod {said}: this has to wait" in text
    assert re.search(rf"<strong>Cluster prod {said} since", text)


def test_what_only_reads_works_on_while_zookeeper_answers_and_waits_where_there_is_none(
    root: Client, prod: PinotCluster
) -> None:
    away()
    assert buttons(root.get(f"{T}lineage/").content.decode())["Pin selected…"]
    Cluster.objects.filter(name="prod").update(zookeeper="")
    assert not buttons(root.get(f"{T}lineage/").content.decode())["Pin selected…"]


def test_queries_go_on_where_the_brokers_address_is_given(root: Client, prod: PinotCluster) -> None:
    away()
    assert not buttons(root.get(f"{PROD}query/").content.decode())["Run"]
    Cluster.objects.filter(name="prod").update(broker_url="http://broker:8099")
    assert buttons(root.get(f"{PROD}query/").content.decode())["Run"]


def test_a_state_that_is_seconds_old_decides_nothing_the_cluster_does(root: Client, prod: PinotCluster) -> None:
    away()
    pressed = root.post(f"{T}segments/a/reload/", {"reason": "it is back already"})
    assert pressed.status_code == 302
    prod.rest.down = {"controller"}
    Cluster.objects.filter(name="prod").update(state="up")
    late = root.post(f"{T}segments/a/reload/", {"reason": "it went away"})
    assert (late.status_code, "Connection refused" in late.content.decode()) == (424, True)


def test_the_banner_offers_a_reload_when_the_cluster_is_back(root: Client, prod: PinotCluster) -> None:
    told = root.get(f"{PROD}cluster/banner/?seen=down").content.decode()
    assert "Cluster prod is back." in told
    assert "Load this page again" in told


def test_the_own_cluster_is_never_unreachable(root: Client, prod: PinotCluster) -> None:
    away()
    make_table("mine_OFFLINE")
    assert buttons(root.get("/").content.decode())["New push"]
