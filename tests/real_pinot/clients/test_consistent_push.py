"""The consistent push of Pinot 1.5.1, by its own classes, against our controller paths."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

import pyarrow as pa
import pytest

from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.segmentfile import build_segment, write_tar
from tests.integration.running import DAY0, Client, Installation, config_of, schema_of
from tests.maven import CLIENTS
from tests.real_pinot.clients.jobs import Target, job_spec, run_script, write_spec
from tests.waiting import poll

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(400)]
SCRIPT = Path(__file__).with_name("consistent_push.groovy")


@pytest.fixture
def target(installation: Installation) -> Target:
    return Target(installation.endpoints["controller"], installation.endpoints["authorization"])


def build(folder: Path, table: str, *segments: str, rows: int = 10) -> None:
    """Tars below ``folder``/out and nothing else; column v holds the segment's name."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "out").mkdir(parents=True)
    schema, config = parse_schema(schema_of(table)), parse_table_config(config_of(table))
    for segment in segments:
        data = pa.table({"v": [segment] * rows, "n": list(range(rows)), "day": [DAY0 + i % 5 for i in range(rows)]})
        build_segment(data, schema, config, segment, folder / "work", creation_time_ms=int(time.time() * 1000))
        write_tar(folder / "work" / segment, folder / "out" / f"{segment}.tar.gz")


def push(target: Target, table: str, folder: Path, mode: str, *options: str) -> str:
    """Run the script; the entry's id."""
    spec = write_spec(job_spec(target, table, "SegmentMetadataPush", folder), folder)
    said = run_script(CLIENTS, SCRIPT, folder, str(spec), target.authorization, mode, *options)
    found = re.search(r"^ENTRIES (\S+)$", said, re.MULTILINE)
    assert found, said[-3000:]
    return found.group(1)


@pytest.mark.parametrize("mode", ["tar", "metadata", "batch"])
def test_a_snapshot_replaces_the_one_before_and_can_be_rolled_back(
    mode: str, client: Client, target: Target, tmp_path_factory: pytest.TempPathFactory, input_root: Path
) -> None:
    table = f"cp_{mode}"
    client.create(table)
    build(input_root / f"{table}_1", table, "a1", "a2")
    push(target, table, input_root / f"{table}_1", mode)
    assert client.counts(table) == {"a1": 10, "a2": 10}
    build(input_root / f"{table}_2", table, "b1", "b2", rows=7)
    entry = push(target, table, input_root / f"{table}_2", mode)
    assert client.counts(table) == {"b1": 7, "b2": 7}  # the very first query after the end
    client.revert(table, entry)
    assert client.counts(table) == {"a1": 10, "a2": 10}


def test_a_push_that_breaks_is_reverted_by_its_client_and_the_old_rows_stay(
    client: Client, target: Target, input_root: Path
) -> None:
    client.create("cp_broken")
    client.upload("cp_broken", "old")
    client.online("cp_broken", "old")
    build(input_root / "cp_broken", "cp_broken", "new1", "new2")
    with pytest.raises(AssertionError, match="the job breaks before its end"):
        push(target, "cp_broken", input_root / "cp_broken", "tar", "break")
    entries = client.call("GET", "/segments/cp_broken/lineage", params={"type": "OFFLINE"}).json()["lineageEntries"]
    assert [e["state"] for e in entries.values()] == ["REVERTED"]
    assert client.counts("cp_broken") == {"old": 10}

    def only_old() -> bool:
        return client.call("GET", "/segments/cp_broken", params={"type": "OFFLINE"}).json() == [{"OFFLINE": ["old"]}]

    poll(only_old, 60, "the reverted segments are deleted")
