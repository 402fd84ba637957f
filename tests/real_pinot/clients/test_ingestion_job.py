"""Pinot's own standalone ingestion job (0.11.0), unchanged, against our controller paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.running import DAY0, Client, Installation, config_of, schema_of
from tests.maven import PINOT
from tests.real_pinot.clients.jobs import Target, job_spec, run_job, write_rows

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(400)]
FILES = {f"part{f}.csv": [(f"p{f}", n, DAY0 + n % 3) for n in range(50 + f)] for f in range(3)}
COUNTS = {"p0": 50, "p1": 51, "p2": 52}


@pytest.fixture
def target(installation: Installation) -> Target:
    return Target(installation.endpoints["controller"], installation.endpoints["authorization"])


@pytest.mark.parametrize(
    ("mode", "push"),
    [("Tar", {}), ("Metadata", {}), ("Metadata", {"copyToDeepStoreForMetadataPush": True}), ("Uri", {})],
    ids=["tar", "metadata", "metadata-copied", "uri"],
)
def test_a_job_pushes_and_its_rows_answer(
    mode: str, push: dict[str, Any], client: Client, target: Target, input_root: Path, request: pytest.FixtureRequest
) -> None:
    name = "job_" + request.node.callspec.id.split("-", 1)[-1].replace("-", "_")
    folder = input_root / name
    client.create(name)
    write_rows(folder, FILES)
    run_job(PINOT, target, job_spec(target, name, f"SegmentCreationAnd{mode}Push", folder, **push), folder)
    segments = client.call("GET", f"/segments/{name}", params={"type": "OFFLINE"}).json()[0]["OFFLINE"]
    assert len(segments) == 3
    client.online(name, *segments)
    assert client.counts(name) == COUNTS
    # The same job again replaces the segments of the same names and adds nothing.
    run_job(PINOT, target, job_spec(target, name, f"SegmentCreationAnd{mode}Push", folder, **push), folder)
    client.online(name, *segments)
    assert client.counts(name) == COUNTS
    client.call("DELETE", f"/tables/{name}")


def test_a_job_with_a_wrong_password_fails_and_changes_nothing(
    client: Client, target: Target, input_root: Path
) -> None:
    folder = input_root / "job_denied"
    client.create("job_denied")
    write_rows(folder, FILES)
    with pytest.raises(AssertionError, match="response code: 401"):
        run_job(
            PINOT, target, job_spec(target, "job_denied", "SegmentCreationAndTarPush", folder), folder, password="wrong"
        )
    assert client.call("GET", "/segments/job_denied", params={"type": "OFFLINE"}).json()[0]["OFFLINE"] == []


def test_a_job_reads_schema_and_config_as_pinot_gives_them(client: Client, target: Target, input_root: Path) -> None:
    """Transforms, a filter, null handling and a raw column of the table config count in the segments that Pinot's job
    builds.
    """
    name, folder = "job_config", input_root / "job_config"
    schema, config = schema_of(name), config_of(name)
    schema["dimensionFieldSpecs"].append({"name": "w", "dataType": "STRING"})
    config["ingestionConfig"]["transformConfigs"] = [{"columnName": "w", "transformFunction": "upper(v)"}]
    config["ingestionConfig"]["filterConfig"] = {"filterFunction": "Groovy({n.toInteger() >= 40}, n)"}
    config["tableIndexConfig"] = {
        "nullHandlingEnabled": True,
        "noDictionaryColumns": ["n"],
        "invertedIndexColumns": ["v"],
    }
    client.call("POST", "/schemas", json=schema)
    client.call("POST", "/tables", json=config)
    write_rows(folder, FILES)
    run_job(PINOT, target, job_spec(target, name, "SegmentCreationAndTarPush", folder), folder)
    client.online(name, *client.call("GET", f"/segments/{name}", params={"type": "OFFLINE"}).json()[0]["OFFLINE"])
    assert dict(client.sql(f"select w, count(*) from {name} group by w")) == {"P0": 40, "P1": 40, "P2": 40}  # type: ignore[arg-type]
