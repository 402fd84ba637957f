"""The version that runs is answered over REST, too."""

from __future__ import annotations

from pinotadmin.version import VERSION
from tests.api.cluster import ApiCluster


def test_a_web_process_answers_its_version(cluster: ApiCluster) -> None:
    answer = cluster.http.get("/version")
    assert (answer.status_code, answer.json()) == (200, {"pinotadmin": VERSION})
