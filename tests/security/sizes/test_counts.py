"""How many of something one request may name: beyond it 400 or 413 with what to do, whatever the size in bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.api import bodies
from segments.domain.tables.schema import MOST_COLUMNS
from segments.errors import PayloadTooLarge
from segments.gateways.input_files import choice
from segments.gateways.input_files.access import FileAccess
from segments.gateways.input_files.choice import Choice
from segments.gateways.input_files.source import InputSource
from tests.api.cluster import ApiCluster

JSON = "application/json"


@pytest.mark.parametrize(
    ("method", "path"), [("post", "/schemas"), ("post", "/schemas/validate"), ("put", "/schemas/t")]
)
def test_a_schema_has_a_bounded_number_of_columns(cluster: ApiCluster, method: str, path: str) -> None:
    columns = [{"name": f"c{n}", "dataType": "INT"} for n in range(MOST_COLUMNS + 1)]
    answer = getattr(cluster.http, method)(path, {"schemaName": "t", "dimensionFieldSpecs": columns}, JSON)
    assert answer.status_code == 400
    assert f"at most {MOST_COLUMNS}" in answer.json()["error"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/segments/t/startReplaceSegments?type=OFFLINE", {"segmentsFrom": [], "segmentsTo": ["s"] * 11}),
        (
            "/segments/t/startReplaceSegments?type=OFFLINE",
            {"segmentsTo": ["s"], "customMap": {str(n): n for n in range(6)}},
        ),
        ("/segments/t/delete", ["s"] * 11),
        ("/api/v1/tokens", {"name": "n", "scopes": ["read"] * 11}),
        ("/api/v1/clusters", {"name": "n", "controllerUrls": ["http://h"] * 11}),
        ("/instances", {"host": "h", "port": 1, "type": "SERVER", "tags": ["x"] * 11}),
    ],
)
def test_a_body_has_a_bounded_number_of_entries(
    cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch, path: str, body: Any
) -> None:
    cluster.create("t")
    monkeypatch.setattr(bodies, "MOST_LISTED", 10)
    monkeypatch.setattr(bodies, "MOST_KEYS", 5)
    answer = cluster.http.post(path, body, JSON)
    assert answer.status_code == 413, answer.content
    assert answer.json()["remedy"] == "Send several requests."


def test_a_push_has_a_bounded_number_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        (tmp_path / f"{number}.csv").touch()
    monkeypatch.setattr(choice, "MOST_FILES", 3)
    source = InputSource(FileAccess((str(tmp_path),)))
    with pytest.raises(PayloadTooLarge, match=r"More than 3 files.*Narrow includeFileNamePattern"):
        source.list(str(tmp_path), Choice())
    assert len(source.list(str(tmp_path), Choice(include="glob:**/[12].csv"))) == 2
