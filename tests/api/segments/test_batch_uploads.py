"""A batch of segments in one tar over REST: one write of the ideal state, all or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.store import paths
from tests.api.cluster import ApiCluster, small_files, tar_of

JSON = "application/json"


@pytest.fixture
def table(cluster: ApiCluster) -> ApiCluster:
    return cluster.create()


def nothing_left(table: ApiCluster) -> bool:
    records = table.memory.children(paths.segments("t_OFFLINE"))
    locks = table.memory.children(paths.upload_locks("t_OFFLINE"))
    return (records, table.ideal, table.files, locks) == ([], {}, [], [])


def batch(table: ApiCluster, names: list[str], listing: str | None = None) -> Path:
    members: dict[str, bytes] = {}
    lines = []
    for name in names:
        for file, body in small_files(table.build(name)).items():
            members[f"{name}.{file}"] = body
        lines += [name, f"http://localhost:1/{name}"]
    members["all_segments_metadata"] = (listing if listing is not None else "\n".join([*lines, ""])).encode()
    return tar_of(table.folder / "batch.tar.gz", members)


def post_batch(table: ApiCluster, tar: Path, **query: str | None) -> Any:
    return table.post_tar(tar, "batch", "/segments/batchUpload", headers={"UPLOAD_TYPE": "METADATA"}, **query)


def test_a_batch_comes_in_as_one_write_of_the_ideal_state(table: ApiCluster) -> None:
    node = table.memory.get(paths.ideal_state("t_OFFLINE"))
    answer = post_batch(table, batch(table, ["s0", "s1", "s2"]))
    assert answer.status_code == 200, answer.content
    assert answer.json()["status"].startswith("Successfully uploaded segments: [s0, s1, s2] of table: t_OFFLINE in ")
    after = table.memory.get(paths.ideal_state("t_OFFLINE"))
    assert node is not None
    assert after is not None
    assert after.version == node.version + 1
    assert table.memory.children(paths.segments("t_OFFLINE")) == sorted(table.ideal) == ["s0", "s1", "s2"]


@pytest.mark.parametrize(
    "listing", ["", "s0", "s0\nhttp://x/s0\ns0\nhttp://x/s0", "other\nhttp://x/other", "s0\nfile:///etc/passwd"]
)
def test_a_batch_that_does_not_fit_together_leaves_nothing(table: ApiCluster, listing: str) -> None:
    assert post_batch(table, batch(table, ["s0"], listing)).status_code == 400
    assert nothing_left(table)


@pytest.mark.parametrize("name", ["t", "t_OFFLINE"])
def test_a_batch_without_a_type_is_for_the_offline_table(table: ApiCluster, name: str) -> None:
    answer = post_batch(table, batch(table, ["s0"]), tableName=name, tableType=None)
    assert (answer.status_code, list(table.ideal)) == (200, ["s0"])
    assert "of table: t_OFFLINE in" in answer.json()["status"]


def test_a_batch_needs_a_name_and_one_part(table: ApiCluster) -> None:
    tar = batch(table, ["s0"])
    assert post_batch(table, tar, tableName=None).status_code == 400
    path, form = "/segments/batchUpload?tableName=t&tableType=OFFLINE", "multipart/form-data; boundary=x"
    empty = table.http.post(path, b"--x--\r\n", form, headers={"UPLOAD_TYPE": "METADATA"})
    assert empty.status_code == 400
    assert nothing_left(table)


def test_one_segment_refused_refuses_the_whole_batch(table: ApiCluster) -> None:
    table.push("s1")
    assert post_batch(table, batch(table, ["s0", "s1"]), allowRefresh="false").status_code == 409
    assert list(table.ideal) == ["s1"]
    assert table.memory.children(paths.segments("t_OFFLINE")) == ["s1"]
