"""What answers 200 and is not what a Pinot answers never becomes a stack trace, and what was done under it is on record
or found again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from segments.clusters.embedded.tables import removal
from segments.clusters.pinot import calls as pinot_calls
from segments.clusters.pinot import passes as pinot_passes
from segments.clusters.pinot.connected_engine import controller
from segments.clusters.pinot.tasks import queues as pinot_tasks
from segments.domain.realtime.force_commit import BatchSettings
from segments.errors import PinotAdminError, RecordCorrupt
from segments.services.clusters import cluster_settings, instances
from segments.services.core.context import Context, Limits
from segments.services.realtime import consuming_info, consumption, force_commit
from segments.services.realtime.consuming_segments import StartFrom
from segments.services.realtime.force_commit import Wanted
from segments.services.replacement import protocol as replacement
from segments.services.segments import deletion, downloads, segment_reset, uploads
from segments.services.tables import schemas, tables  # fmt: skip
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.pinot_cluster.test_realtime import SEGMENT
from tests.pinot_cluster.test_realtime import made as made_realtime
from tests.pinot_cluster.test_tables import NEW
from tests.push.pushing import SCHEMA, PushWorld, config
from tests.services.realtime_world import TABLE as REALTIME
from tests.services.segments.kinds import tar
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

Use = Callable[[Context, Path], object]
ODD: Final[list[Any]] = [
    None,
    True,
    5,
    "",
    "text",
    [],
    ["text"],
    [[]],
    [None],
    [{}],
    {},
    {"status": []},
    {"error": {}},
    {"lineageEntries": []},
    {"lineageEntries": {"e": []}},
    {"lineageEntries": {"e": {"state": "ODD", "timestamp": "x"}}},
    {"segmentLineageEntryId": None},
    {"consumingSegments": 5, "pauseFlag": "x", "comment": 5},
    {"OFFLINE": []},
    {"segment.crc": {}},
    {"JobDetails": 5},
    {"JobDetails": [{}]},
    {"JobDetails": [{"JobKey": []}]},
    {"schemaName": 5, "dimensionFieldSpecs": 5},
    {"version": "x", "mzxid": None},
    {"simpleFields": 5},
    {"id": "x", "mapFields": {"a": 5}},
    {"id": "x", "simpleFields": {}, "mapFields": [], "listFields": {}},
]
READS, STATS, RECORDS, CHANGES = "reads", "stats of znodes", "znodes", "changes"
#: The replacement that is open in table t.
ENTRY: Final = "entry-1"

OFFLINE_USES: Final[dict[str, Use]] = {
    "start": lambda c, _: replacement.start_replace(c, TABLE, [], ["c"], actor=ANN),
    "end": lambda c, _: replacement.end_replace(c, TABLE, ENTRY, actor=ANN),
    "revert": lambda c, _: replacement.revert_replace(c, TABLE, ENTRY, force=True, actor=ANN),
    "preview": lambda c, _: replacement.preview_revert(c, TABLE, ENTRY, force=True),
    "upload": lambda c, folder: uploads.upload_tar(c, TABLE, folder / "build-new-1" / "segment.tar.gz", actor=ANN),
    "delete": lambda c, _: deletion.delete_segments(c, TABLE, ["a"], actor=ANN),
    "download": lambda c, _: list(downloads.open_segment(c, "t", "a").chunks()),
    "reset": lambda c, _: segment_reset.reset_segment(c, TABLE, "a", actor=ANN),
    "reload": lambda c, _: segment_reset.reload_segments(c, TABLE, segments=None, force_download=False, actor=ANN),
    "schema": lambda c, _: schemas.create_schema(c, NEW, override=False, actor=ANN),
    "changed schema": lambda c, _: schemas.update_schema(c, "t", SCHEMA, actor=ANN),
    "table": lambda c, _: tables.create_table(c, {**config(), "tableName": "u"}, actor=ANN),
    "changed table": lambda c, _: tables.update_table(c, "t", config(query={"timeoutMs": 5000}), actor=ANN),
    "validation": lambda c, _: tables.validate_table(c, config()),
    "drop": lambda c, _: tables.delete_table(c, TABLE, actor=ANN),
    "disabling": lambda c, _: tables.set_table_enabled(c, TABLE, False, actor=ANN),
    "state": lambda c, _: tables.is_table_enabled(c, TABLE),
    "list": lambda c, _: tables.list_tables(c),
    "settings": lambda c, _: cluster_settings.read_settings(c),
    "changed settings": lambda c, _: cluster_settings.set_settings(c, {"a": "b"}, actor=ANN),
    "instances": lambda c, _: instances.list_instances(c),
    "instance": lambda c, _: instances.add_instance(c, host="h", port=1, kind="server", tags=["x"], actor=ANN),
    "tasks": lambda c, _: pinot_tasks.read_tasks(c),
    "what the controller says": lambda c, _: pinot_tasks.table_status(c, TABLE),
    "pass": lambda c, _: pinot_passes.ask_pinot(c, "RetentionManager", TABLE),
}
REALTIME_USES: Final[dict[str, Use]] = {
    "pause": lambda c, _: consumption.pause_table(c, REALTIME, actor=ANN),
    "resume": lambda c, _: consumption.resume_table(c, REALTIME, start=StartFrom("smallest"), actor=ANN),
    "pause status": lambda c, _: consumption.pause_status(c, REALTIME),
    "topics": lambda c, _: consumption.pause_topics(c, REALTIME, [1], actor=ANN),
    "commits under way": lambda c, _: consuming_info.pauseless_debug_info(c, REALTIME),
    "consumers": lambda c, _: consuming_info.consuming_segments_info(c, REALTIME),
    "force commit": lambda c, _: force_commit.force_commit(
        c, REALTIME, Wanted(segments=[SEGMENT]), BatchSettings(), actor=ANN
    ),
    "progress": lambda c, _: force_commit.job_status(c, "job-1"),
}


class _Odd:
    """A cluster of which requests of one kind are answered with ``answer``; changes are done before."""

    def __init__(self, cluster: PinotCluster, kind: str, answer: Any) -> None:
        self.ctx, self._real, self._kind, self._answer = cluster.ctx, cluster.rest.handle, kind, answer
        controller(self.ctx).version()
        self.told = 0
        cluster.rest.handle = self.handle  # type: ignore[method-assign]
        self.ctx = replace(cluster.connect(), limits=Limits(replicas_online_s=0.01, broker_ack_s=0.01))

    def handle(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        is_read = request.method == "GET" or path == "/tables/validate"
        kind = RECORDS if path == "/zk/get" else STATS if path.startswith("/zk/") else READS if is_read else CHANGES
        if kind != self._kind or path == "/cluster/info":
            return self._real(request)
        self.told += 1
        if kind == CHANGES:
            self._real(request)
        return httpx.Response(200, json=self._answer)


def strange(cluster: Callable[[], PinotCluster], use: Use, folder: Path) -> list[str]:
    """Each odd answer under which the use case ends with anything but a value or an error of ours that explains it."""
    found = []
    for kind in (READS, STATS, RECORDS, CHANGES):
        for answer in ODD:
            odd = _Odd(cluster(), kind, answer)
            try:
                use(odd.ctx, folder)
            except PinotAdminError as error:
                if isinstance(error, RecordCorrupt) and kind != RECORDS:
                    found.append(f"{kind} {answer!r}: {error!r}")
            except Exception as error:  # noqa: BLE001  # its kind is what is tested
                found.append(f"{kind} {answer!r}: {error!r}")
            if not odd.told:
                break  # it asks for nothing of this kind
    return found


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinot_calls, "_CHECK_S", 0.0)
    monkeypatch.setattr(pinot_calls, "_CHECK_AGAIN_S", 0.0)
    monkeypatch.setattr(removal, "_LET_GO_S", 0.0)


@pytest.mark.parametrize("use", OFFLINE_USES.values(), ids=OFFLINE_USES)
def test_a_use_case_of_a_batch_table_reports_what_is_odd(use: Use, tmp_path: Path) -> None:
    numbers = itertools.count()
    tar(tmp_path, "new")

    def cluster() -> PinotCluster:
        folder = tmp_path / str(next(numbers))
        made = PinotCluster(folder, inside=PushWorld(folder / "pinot"))
        made.inside.upload("a")
        replacement.start_replace(made.inside.ctx, TABLE, ["a"], ["b"], actor=ANN)
        made.inside.upload("b")
        return made

    assert strange(cluster, use, tmp_path) == []


@pytest.mark.parametrize("use", REALTIME_USES.values(), ids=REALTIME_USES)
def test_a_use_case_of_a_realtime_table_reports_what_is_odd(use: Use, tmp_path: Path) -> None:
    numbers = itertools.count()
    assert strange(lambda: made_realtime(tmp_path / str(next(numbers)), "1.5.1"), use, tmp_path) == []
