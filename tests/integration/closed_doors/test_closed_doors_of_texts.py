"""Texts of a few hundred bytes that froze the web process for good are answered at once, by a running installation,
from outside.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.running import Client
from tests.security.sizes.texts import aliases, merges

pytestmark = pytest.mark.integration

#: What these texts took before doubles with every four bytes, or is tenfold with every line: such an answer never
#: comes.
_SECONDS = 20


@pytest.mark.parametrize(
    "sql",
    [
        "/**/" * 70 + "1",
        "--\n" * 70 + "1",
        "select " + "struct(" * 40 + "a" + ")" * 40 + " from flights",
        "select " + "round(a," * 39 + "a" + ")" * 39 + " from {table}",
        "select " + " or ".join(["id=1"] * 2000) + " as b from {table} order by " + ",".join(["b"] * 2000),
        "OPTION(" * 100_000,
    ],
    ids=["comments", "line comments", "types", "arguments", "aliases", "options"],
)
def test_a_query_text_is_answered_at_once(client: Client, table: str, sql: str) -> None:
    answer = client.call("POST", "/query/sql", json={"sql": sql.replace("{table}", table)}, timeout=_SECONDS).json()
    assert answer["exceptions"]


@pytest.mark.parametrize("text", [aliases(12), merges(12), "a: &a [*a]", "[" * 100_000, "? " * 100_000])
def test_a_job_specification_is_refused_at_once(client: Client, text: str) -> None:
    answer: Any = client.call("POST", "/api/v1/pushes", status=400, data=text, timeout=_SECONDS).json()
    assert "job specification" in answer["error"]


def test_a_file_name_pattern_and_a_period_take_no_time(client: Client, table: str) -> None:
    spec = {
        "jobType": "SegmentCreationAndMetadataPush", "inputDirURI": "/nowhere", "tableSpec": {"tableName": table},
        "includeFileNamePattern": "regex:(a|a)*(?=b)", "recordReaderSpec": {"dataFormat": "csv"},
    }  # fmt: skip
    refused = client.call("POST", "/api/v1/pushes", status=400, json={"spec": spec}, timeout=_SECONDS).json()
    assert "Patterns are run by RE2" in str(refused)
    config = client.call("GET", f"/tables/{table}").json()["OFFLINE"]
    config["segmentsConfig"]["replacedSegmentsRetentionPeriod"] = "1d" + " " * 100_000 + "x"
    refused = client.call("PUT", f"/tables/{table}", status=400, json=config, timeout=_SECONDS).json()
    assert refused["field"] == "segmentsConfig.replacedSegmentsRetentionPeriod"
