"""A metadata push of several transactions, cut after every one: a segment has a record if it has a row; done again all
are there.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from segments.clusters.embedded.segments import registration as upload_registration
from segments.errors import PinotAdminError
from segments.segmentfile.format.info import SegmentInfo
from segments.segmentfile.packed.tar import read_info_from_tar
from segments.services.replacement.protocol import end_replace, start_replace
from segments.services.segments.uploads import upload_metadata
from segments.store import paths
from tests.api.cluster import ANN, TABLE, ApiCluster
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan
from tests.services.segments.test_uploads import made, over

pytestmark = pytest.mark.django_db
NAMES = [f"s{i}" for i in range(20)]


@pytest.fixture(autouse=True)
def _small_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_registration, "_CHUNK_BYTES", 4_000)


def push(cluster: ApiCluster, store: FaultyStore | None, info: SegmentInfo, crc: int) -> None:
    parts = [(SegmentInfo(**{**info.__dict__, "name": s, "crc": crc}), f"http://localhost:1/{s}", 10) for s in NAMES]
    upload_metadata(over(cluster, store) if store else cluster.ctx, TABLE, parts, lineage_entry="e1", actor=ANN)  # type: ignore[arg-type]


@pytest.mark.parametrize("is_refresh", [False, True])
@pytest.mark.parametrize("fault", list(Fault))
def test_a_metadata_push_cut_anywhere_is_whole_for_every_segment_and_can_be_repeated(
    tmp_path: Path, fault: Fault, is_refresh: bool
) -> None:
    info = read_info_from_tar(made(tmp_path / "probe").build("s"))
    for number in (1, 2, 3):
        cluster, where = made(tmp_path / f"{number}"), f"{fault.name} at write {number}"
        cluster.memory.delete("/LIVEINSTANCES/Broker_127.0.0.1_9000")
        start_replace(cluster.ctx, TABLE, [], NAMES, actor=ANN, entry_id="e1")
        if is_refresh:
            push(cluster, None, info, 1)
        store = FaultyStore(cluster.memory, Plan({number: fault}))
        with suppress(Cut, PinotAdminError):
            push(cluster, store, info, 2)
        assert any(w.path.startswith(paths.segments("t_OFFLINE")) for w in store.writes[number - 1]), (
            where
        )  # records, not messages
        assert set(cluster.memory.children(paths.segments("t_OFFLINE"))) == set(cluster.ideal), where
        assert {cluster.fields(s)["segment.crc"] for s in cluster.ideal} <= {"1", "2"}, where
        push(cluster, None, info, 2)
        assert {cluster.fields(s)["segment.crc"] for s in NAMES} == {"2"}, where
        end_replace(cluster.serve().ctx, TABLE, "e1", actor=ANN)
