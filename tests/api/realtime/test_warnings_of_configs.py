"""What the REST API says of pauseless consumption and of an offset auto reset when a config is saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from segments import wiring
from segments.domain.realtime.streams.offset_auto_reset import BACKFILL, ENABLE, MESSAGES, SECONDS
from tests.api.cluster import basic
from tests.services.realtime_world import RealtimeWorld, config_of

pytestmark = pytest.mark.django_db


def _saved(folder: Path, *, is_pauseless: bool = True, **config: Any) -> tuple[int, dict[str, Any]]:
    world = RealtimeWorld(folder)
    User.objects.create_superuser("root", password="a long enough secret")
    client = Client(headers={"Authorization": basic("root", "a long enough secret")})
    body = config_of(streaming={"pauselessConsumptionEnabled": is_pauseless}, **config)
    with wiring.use(world.ctx):
        answer = client.put("/tables/t_REALTIME", json.dumps(body), "application/json")
    return answer.status_code, answer.json()


def test_one_replica_is_taken_with_a_warning_of_what_is_at_risk(tmp_path: Path) -> None:
    status, answer = _saved(tmp_path, replication=1)
    assert status == 200, answer
    (warning,) = answer["warnings"]
    assert warning["key"] == "ingestionConfig.streamIngestionConfig.pauselessConsumptionEnabled"
    assert "one server only" in warning["problem"]
    assert "peerSegmentDownloadScheme" in warning["remedy"]


def test_two_replicas_need_a_scheme_and_then_there_is_nothing_to_warn_of(tmp_path: Path) -> None:
    status, answer = _saved(tmp_path / "without")
    assert status == 400
    assert "needs 'peerSegmentDownloadScheme' for pauseless consumption with 2 replicas" in answer["error"]
    User.objects.all().delete()
    status, answer = _saved(tmp_path / "with", segments={"peerSegmentDownloadScheme": "http"})
    assert (status, "warnings" in answer) == (200, False)


@pytest.mark.parametrize(
    ("stream", "warns"),
    [({}, True), ({MESSAGES: "0"}, True), ({MESSAGES: "5", BACKFILL: "true"}, True), ({SECONDS: "60"}, False)],
)
def test_an_offset_auto_reset_that_never_happens_is_taken_with_a_warning(
    tmp_path: Path, stream: dict[str, str], warns: bool
) -> None:
    status, answer = _saved(tmp_path, is_pauseless=False, stream={ENABLE: "true", **stream})
    assert status == 200, answer
    assert [w["key"] for w in answer.get("warnings", ())] == [ENABLE] * warns
