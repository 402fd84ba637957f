"""A single file through the whole installation: a form or an address, a Celery worker, Spark, and queries."""

from __future__ import annotations

import json

import pytest

from tests.integration.running import DAY0, Client, Installation, config_of
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

ROWS = f"v,n,day\nform,1,{DAY0}\nform,2,{DAY0}\n"


def test_a_file_by_form_and_one_by_address_are_queryable_and_nothing_stays(
    installation: Installation, client: Client, table: str
) -> None:
    config = config_of(table)
    config["ingestionConfig"]["batchIngestionConfig"] = {"segmentIngestionType": "APPEND"}
    client.call("PUT", f"/tables/{table}", json=config)
    asked = {"tableNameWithType": f"{table}_OFFLINE", "batchConfigMapStr": json.dumps({"inputFormat": "csv"})}
    sent = client.http.post(
        f"{client.base}/ingestFromFile", params=asked, files={"file": ("rows.csv", ROWS.encode())}, timeout=100
    )
    assert sent.status_code in (200, 202), sent.text
    path = installation.folder / "input" / table / "rows.csv"
    path.parent.mkdir(parents=True)
    path.write_text(ROWS.replace("form", "address"))
    fetched = client.http.post(f"{client.base}/ingestFromURI", params={**asked, "sourceURIStr": str(path)}, timeout=100)
    assert fetched.status_code in (200, 202), fetched.text
    poll(lambda: client.counts(table) == {"form": 2, "address": 2}, 100, "both are there")
    poll(lambda: not list((installation.folder / "uploads").iterdir()), 90, "their files are gone")
    assert path.exists()
