"""Pushes over REST: the specification as YAML or JSON, progress, refusals that name their key, rights,
and cancelling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from segments import wiring
from segments.domain.push.push_model import REFUSED, WITHOUT_EFFECT, JobSpec, dotted_keys
from segments.models import AuditEvent, Push
from tests.push.pushing import PushWorld
from tests.task_queue import FakeQueue

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path, settings: Any) -> Iterator[PushWorld]:
    made = PushWorld(tmp_path)
    made.file("a.csv", "Rom,1,17000")
    settings.INPUT_ROOTS = [str(made.folder)]
    made.queued = []  # type: ignore[attr-defined]
    settings.ROOT_URLCONF = "segments.api.urls"
    with wiring.use(replace(made.ctx, queue=FakeQueue(work=made.queued.append))):  # type: ignore[attr-defined]
        yield made


@pytest.fixture
def client() -> APIClient:
    made = APIClient()
    made.force_authenticate(User.objects.create_superuser("ann"))
    return made


def test_a_push_is_started_with_json_followed_and_listed(world: PushWorld, client: APIClient) -> None:
    answer = client.post("/api/v1/pushes", {"spec": world.spec(), "reason": "new prices"}, format="json")
    assert (answer.status_code, answer.json()["state"], answer.json()["filesTotal"]) == (201, "QUEUED", 1)
    push = Push.objects.get()
    assert world.queued == [str(push.pk)]  # type: ignore[attr-defined]
    world.run(push)
    shown = client.get(answer["Location"]).json()
    assert (shown["state"], shown["rows"], shown["reason"], shown["actor"]) == ("DONE", 1, "new prices", "ann")
    assert [s["state"] for s in shown["segments"]] == ["UPLOADED"]
    assert [p["id"] for p in client.get("/api/v1/pushes?tableName=t&state=done").json()["pushes"]] == [str(push.pk)]
    assert client.get("/api/v1/pushes?tableName=u").json() == {"pushes": []}
    assert AuditEvent.objects.filter(action="push", actor="ann", reason="new prices").exists()


def test_keys_that_change_nothing_are_named(world: PushWorld, client: APIClient) -> None:
    spec = world.spec(
        outputDirURI="/out",
        pushJobSpec={"pushParallelism": 8, "extraConfigs": {"errorRate": 0.5}},
        recordReaderSpec={"dataFormat": "csv", "configs": {"recordSeparator": "\n"}},
    )
    answer = client.post("/api/v1/pushes", yaml.safe_dump(spec), content_type="application/yaml").json()
    assert answer["withoutEffect"] == [
        "outputDirURI", "recordReaderSpec.configs.recordSeparator", "pushJobSpec.pushParallelism",
    ]  # fmt: skip
    assert "withoutEffect" not in client.post("/api/v1/pushes", world.spec(), format="json").json()


def test_every_key_without_effect_is_one_of_a_specification_or_its_csv_reader() -> None:
    known = {*dotted_keys(JobSpec), *(f"recordReaderSpec.configs.{k}" for k in ("quoteMode", "recordSeparator"))}
    assert not set(WITHOUT_EFFECT) - known
    assert not set(WITHOUT_EFFECT) & set(REFUSED)


def test_a_bare_yaml_specification_is_taken(world: PushWorld, client: APIClient) -> None:
    text = yaml.safe_dump(world.spec())
    answer = client.post("/api/v1/pushes?reason=why", text, content_type="application/yaml")
    assert (answer.status_code, answer.json()["reason"]) == (201, "why")


def test_a_refusal_names_field_and_line(world: PushWorld, client: APIClient) -> None:
    answer = client.post("/api/v1/pushes", "jobType: Foo\ninputDirURI: x\n", content_type="text/plain")
    assert (answer.status_code, answer.json()["field"], answer.json()["line"]) == (400, "jobType", 1)
    answer = client.post("/api/v1/pushes", world.spec(inputDirURI="/etc"), format="json")
    assert (answer.status_code, answer.json()["field"]) == (403, "inputDirURI")
    assert client.post("/api/v1/pushes", "", content_type="text/plain").status_code == 400
    assert not Push.objects.exists()


def test_a_queued_push_can_be_cancelled_once(world: PushWorld, client: APIClient) -> None:
    push = world.create()
    assert client.post(f"/api/v1/pushes/{push.pk}/cancel").json()["state"] == "CANCELLED"
    assert client.post(f"/api/v1/pushes/{push.pk}/cancel").status_code == 409
    assert client.get("/api/v1/pushes/nope").status_code == 404


def test_changes_need_the_right_to_operate(world: PushWorld) -> None:
    reader = APIClient()
    assert reader.get("/api/v1/pushes").status_code == 401
    reader.force_authenticate(User.objects.create_user("bob"))
    assert reader.get("/api/v1/pushes").status_code == 200
    assert reader.post("/api/v1/pushes", world.spec(), format="json").status_code == 403


@pytest.mark.parametrize("setting", ["PUSHES_PER_USER", "PUSHES_PER_TABLE"])
def test_pushes_that_wait_or_run_are_bounded_by_user_and_table(
    world: PushWorld, client: APIClient, settings: Any, setting: str
) -> None:
    table, user = ("other", "ann") if setting == "PUSHES_PER_USER" else ("t", "bob")
    setattr(settings, setting, 2)
    for _ in range(2):
        Push.objects.create(cluster=world.ctx.cluster, table_name=table, spec={}, actor=user)
    refused = client.post("/api/v1/pushes", {"spec": world.spec()}, format="json")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "30")
    assert f"PINOTADMIN_{setting}" in refused.json()["error"]
    assert not world.queued  # type: ignore[attr-defined]
    Push.objects.update(state=Push.State.DONE)
    assert client.post("/api/v1/pushes", {"spec": world.spec()}, format="json").status_code == 201
