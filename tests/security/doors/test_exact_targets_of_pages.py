"""The same of the console: no form that somebody sends who may do all with one table changes another table, or another
cluster.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from segments import wiring
from segments.models import ApiToken, AuditEvent, Cluster, Grant, Push
from segments.store import paths
from segments.store.memory import MemoryStore, MemoryTree
from tests.api.cluster import ApiCluster
from tests.factories import CLUSTER, make_entry, make_push, make_segments, make_table
from tests.security import expected
from tests.security.doors.test_exact_targets import SPEC, world
from tests.security.routes import Route, all_routes

__all__ = ["world"]

SECOND = "second"
BROKERS = paths.ideal_state("brokerResource")
TYPES = ("OFFLINE", "REALTIME")
#: (before the address, table in the address, whose segment, entry and push stand there, whom the form names)
WAYS = [
    ("", "mine", "other", "other"),
    ("", "other", "mine", "mine"),
    ("", "mine", "mine", "other"),
    ("", "mine", "mine", "mine"),
    (f"/console/c/{SECOND}", "mine", "mine", "mine"),
]


@dataclass
class Both:
    """Two clusters with the same tables ``mine`` and ``other``; ``mia`` may do everything with ``mine`` of the first,
    nothing else.
    """

    first: ApiCluster
    second: MemoryStore
    entries: dict[str, str]
    pushes: dict[str, str]

    def not_hers(self) -> dict[str, Any]:
        """Everything else: znodes, files, pushes, people, clusters, and what is on record as done by her."""
        files = [f for f in (self.first.folder / "store").rglob("*") if f.is_file() and "other" in str(f)]
        done = AuditEvent.objects.filter(actor="mia", outcome="done").exclude(cluster=CLUSTER, target__contains="mine")
        return {
            "nodes": {
                p: (n.version, n.data)
                for p, n in self.first.memory.tree.nodes.items()
                if is_not_hers(p, n.data) and p != BROKERS
            },
            "brokers": without_hers(self.first.memory.tree.nodes[BROKERS].data),
            "second": {p: (n.version, n.data) for p, n in self.second.tree.nodes.items()},
            "files": {str(f): (f.stat().st_size, f.stat().st_mtime_ns) for f in files},
            "pushes": list(
                Push.objects.exclude(table_name="mine", cluster=CLUSTER)
                .order_by("pk")
                .values_list("pk", "state", "reason")
            ),
            "people": [list(User.objects.order_by("pk").values()), list(Grant.objects.order_by("pk").values())],
            "tokens": list(ApiToken.objects.exclude(owner__username="mia").order_by("pk").values()),
            "clusters": list(Cluster.objects.order_by("pk").values_list("name", "controller_urls", "broker_url")),
            "done": [e for e in done.values_list("action", "target", "cluster") if "oken" not in e[0]],
        }


@pytest.fixture
def both(world: ApiCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Both]:
    monkeypatch.setattr("segments.services.jobs.queue.enqueue_push", lambda *_: True)
    Grant.objects.filter(user__username="mia").update(cluster=CLUSTER)
    entries = {name: begun(world, name) for name in ("mine", "other")}
    tree = MemoryTree()
    tree.nodes, tree.kids = dict(world.memory.tree.nodes), {k: set(v) for k, v in world.memory.tree.kids.items()}
    made = Both(world, MemoryStore(tree), entries, {})
    ctx = replace(world.ctx, cluster=CLUSTER)
    with wiring.use(ctx, world.broker), wiring.use_cluster(replace(ctx, cluster=SECOND, store=made.second)):
        for cluster in (
            Cluster.objects.get_or_create(name=CLUSTER)[0],
            Cluster.objects.create(name=SECOND, kind="pinot"),
        ):
            for name, entry in entries.items():
                rows = {type_: make_table(f"{name}_{type_}", cluster=cluster) for type_ in TYPES}
                make_segments(rows["OFFLINE"], f"{name}_0", f"{name}_1")
                make_entry(rows["OFFLINE"], entry, "IN_PROGRESS", segments_from=[], segments_to=[f"{name}_9"])
                push = make_push(cluster=cluster.name, table_name=name, state="BLOCKED", entry_id=entry)
                made.pushes[f"{cluster.name}/{name}"] = str(push.pk)
        yield made


def is_not_hers(path: str, data: bytes) -> bool:
    """Is a znode not of table ``mine``? Messages about it stand below servers; folders are nobody's."""
    return b"other" in data or "other" in path or bool(data and b"mine" not in data and "mine" not in path)


def without_hers(data: bytes) -> dict[str, Any]:
    """Which brokers answer for each table but hers, of the one document that lists all of them."""
    return {table: b for table, b in json.loads(data)["mapFields"].items() if not table.startswith("mine_")}


def differing(before: dict[str, Any], now: dict[str, Any]) -> list[Any]:
    """What of two views is not the same, for the message of a failure."""
    parts = [(before[k], now[k]) for k in now]
    dicts = [p for a, b in parts if isinstance(a, dict) for p in a.keys() | b.keys() if a.get(p) != b.get(p)]
    return [*dicts, *((a, b) for a, b in parts if not isinstance(a, dict) and a != b)][:3]


def begun(world: ApiCluster, name: str) -> str:
    """The id of a replacement of the table that is open."""
    answer = world.http.post(
        f"/segments/{name}/startReplaceSegments?type=OFFLINE", {"segmentsTo": [f"{name}_9"]}, "application/json"
    )
    return str(answer.json()["segmentLineageEntryId"])


def forms() -> list[Route]:
    """Pages of the console that take a form, those that end her access to the table last."""
    known = expected.of_web()
    found = [
        r
        for r in all_routes()
        if not r.is_rest
        and ("POST", r.path) in known
        and not r.path.startswith(("/admin/", "/login/", "/logout/", "/favicon", "/console/query/"))
    ]
    return sorted(
        found, key=lambda r: r.path.endswith(("/delete/", "/reset/", "/rollback/", "/rollback-to/", "/delete-table/"))
    )


def filled(route: Route, table: str, rest: str, type_: str, both: Both) -> str:
    """The address with ``table`` where a table stands, and a segment, an entry and a push of ``rest``."""
    known = {
        "typed": f"{table}_{type_}",
        "segment": f"{rest}_0",
        "entry_id": both.entries[rest],
        "push_id": both.pushes[f"{CLUSTER}/{rest}"],
        "instance": "Server_127.0.0.1_8098",
        "name": SECOND,
        "task_type": "x",
    }
    return route.address(**dict.fromkeys(route.parameters, 1) | known)


def fields(named: str, both: Both) -> dict[str, Any]:
    """A form that names one table in every field of every form, and what each form asks for beside it."""
    spec = json.dumps({**SPEC, "tableSpec": {"tableName": named}, "inputDirURI": str(wiring.input_roots()[0])})
    typed = f"{named}_OFFLINE"
    return {
        "table": typed,
        "tableName": named,
        "typed": typed,
        "tableNameWithType": typed,
        "type": "OFFLINE",
        "cluster": SECOND,
        "s": [f"{named}_0", f"{named}_1"],
        "segment": f"{named}_0",
        "e": both.entries[named],
        "entry": both.entries[named],
        "p": "0",
        "task": "RetentionManager",
        "reason": "because",
        "name": named,
        "scopes": ["administer"],
        "tables": "*",
        "days": "5",
        "spec": spec,
        "document": '{"checks": []}',
        "start": "smallest",
        "force": "on",
        "sql": f"select 1 from {named}",
        "controller_urls": "http://127.0.0.1:1",
        "anyway": "on",
        "auth": "",
    }


def sent(mia: Client, address: str, form: dict[str, Any]) -> int:
    """What a POST answers; once more with what must be typed, and what the page holds unseen, where the first answer
    asks for it.
    """
    answer = mia.post(address, {**form, "confirm": form["table"]})
    if answer.status_code != 422:
        return answer.status_code
    asked = answer.context["form"]
    confirm = getattr(asked, "expected", "") or getattr(asked, "table", "") or form["table"]
    return mia.post(address, {**form, "confirm": confirm, "seen": getattr(asked, "fingerprint", "")}).status_code


def test_with_rights_on_one_table_no_form_changes_another_or_another_cluster(both: Both) -> None:
    mia = Client()
    mia.force_login(User.objects.get(username="mia"))
    before, count, wrong, changed = both.not_hers(), 0, [], set()
    for route in forms():
        for prefix, table, rest, named in WAYS:
            type_ = "REALTIME" if "/consumption/" in route.path else "OFFLINE"
            address = filled(route, table, rest, type_, both)
            status = sent(mia, prefix + address.removeprefix("/console") if prefix else address, fields(named, both))
            target = table if "typed" in route.parameters else rest if "push_id" in route.parameters else named
            # What is each person's own, and a form that leads to its first page when no file was chosen.
            is_own = address.startswith(
                ("/console/tokens/", "/console/tour/", "/console/settings/", "/console/new-table/columns/")
            )
            is_hers = (target == "mine" and not prefix) or is_own
            count += 1
            now = both.not_hers()
            assert [k for k in now if now[k] != before[k]] == [], (
                prefix,
                address,
                named,
                status,
                differing(before, now),
            )
            assert status < 500, (prefix, address, named)
            if status == 302 and not is_hers:
                wrong.append((prefix, address, named, status))
            if status == 302:
                changed.add(route.path)
    assert not wrong
    assert count > 150
    assert len(changed) > 15, "her own table is changed by all this"


def test_a_file_of_a_new_push_counts_for_the_right_as_it_does_for_the_push(both: Both) -> None:
    mia = Client()
    mia.force_login(User.objects.get(username="mia"))
    mine, other = (fields(name, both)["spec"] for name in ("mine", "other"))
    before = both.not_hers()
    for text, file in ((mine, other), (other, other)):
        answer = mia.post(
            "/console/pushes/new/", {"spec": text, "reason": "x", "file": SimpleUploadedFile("job.yaml", file.encode())}
        )
        assert answer.status_code == 403
    assert both.not_hers() == before
