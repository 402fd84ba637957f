"""What a server that consumes shows on /metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from segments.dataplane.server.consuming.decisions import State
from segments.dataplane.server.held.download_counts import Downloads
from segments.dataplane.server.segment_lives import SegmentLives
from segments.gateways.deep_store.deepstore import DeepStore
from segments.metrics.catalog import METRICS
from segments.metrics.exposition import RecordedValues, render
from segments.metrics.metric_kinds import SERVER
from segments.store import paths
from tests.dataplane.consuming.keyed.keyed_world import KeyedWorld
from tests.dataplane.consuming_world import RT, ConsumingWorld
from tests.dataplane.world import SECRET, poll
from tests.signed import Signed


@pytest.fixture
def live(tmp_path: Path) -> Iterator[ConsumingWorld]:
    """An empty cluster."""
    made = ConsumingWorld(tmp_path)
    yield made
    made.close()


def metrics(world: ConsumingWorld) -> dict[str, float]:
    """{line without its value: value} of the page, asked for as a process of the cluster does."""
    answer = httpx.get(f"{world.servers[1].admin_url}/metrics", auth=Signed(SECRET))
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    lines = [line.rpartition(" ") for line in answer.text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def test_rows_lag_builds_uploads_and_downloads_of_a_partition_are_on_the_page(live: ConsumingWorld) -> None:
    live.create_realtime(rows=20)
    live.start_server()
    before = metrics(live)
    live.send(50)
    live.exact(1)
    live.settled()
    poll(lambda: len(live.chain()) == 3, what="two commits")
    now = metrics(live)

    def grown(name: str) -> float:
        line = f"pinotadmin_{name}"
        return now[line] - before.get(line, 0.0)

    assert grown(f'realtime_rows_consumed_total{{table="{RT}"}}') >= 50
    assert grown(f'segment_build_seconds_count{{table="{RT}"}}') == 2
    assert grown(f'segment_uploads_total{{outcome="success",table="{RT}"}}') == 2
    assert grown(f'segment_commit_seconds_count{{table="{RT}"}}') == 2
    assert grown(f'segment_commit_attempts_total{{outcome="committed",table="{RT}"}}') == 2
    assert grown(f'segment_build_failures_total{{table="{RT}"}}') == 0
    of = f'{{partition="0",table="{RT}"}}'
    assert now[f"pinotadmin_realtime_ingestion_offset_lag{of}"] == 0
    assert now[f"pinotadmin_realtime_ingestion_delay_seconds{of}"] == 0
    assert now[f"pinotadmin_llc_partition_consuming{of}"] == 1
    assert now[f"pinotadmin_consuming_segment_rows{of}"] == 10
    assert now[f"pinotadmin_num_rows_threshold{of}"] == 20
    assert now[f"pinotadmin_realtime_ingestion_consuming_offset{of}"] == 50
    upstream = f"pinotadmin_realtime_ingestion_upstream_offset{of}"
    poll(lambda: metrics(live)[upstream] == 50, what="the stream's end, asked for once a second")
    newest = live.servers[1].slots.serving(RT)[live.chain()[1]]
    assert now[f"pinotadmin_committing_segment_size_bytes{of}"] == newest.disk_bytes
    assert now["pinotadmin_server_reingestions_in_progress"] == 0
    assert now[f'pinotadmin_server_document_count{{table="{RT}"}}'] == 40


def test_no_line_comes_twice_and_every_name_has_our_prefix_or_is_of_the_process(live: ConsumingWorld) -> None:
    live.create_realtime(rows=20)
    live.start_server()
    text = httpx.get(f"{live.servers[1].admin_url}/metrics", auth=Signed(SECRET)).text
    lines = [line.rpartition(" ")[0] for line in text.splitlines() if line and not line.startswith("#")]
    assert len(lines) == len(set(lines))
    found = set(re.findall(r"^# TYPE (pinotadmin_\w+)", text, re.MULTILINE))
    assert found == {metric.full_name for metric in METRICS if SERVER in metric.shown_by}
    assert all(re.match(r"(pinotadmin|python|process)_[a-z_]+", line) for line in lines)


def test_the_life_of_a_segment_says_why_its_upload_failed(
    live: ConsumingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError("No space left on device")

    monkeypatch.setattr(DeepStore, "put", full)
    live.create_realtime(rows=20)
    live.start_server()
    live.send(20)

    def problems() -> set[str]:
        url = f"{live.servers[1].admin_url}/tables/{RT}/partitions/0/segmentLives"
        lives = httpx.get(url, auth=Signed(SECRET)).json()
        steps = [step for one in lives for step in one["steps"] if step["kind"] == "upload"]
        return {step["problem"] for step in steps}

    poll(lambda: problems() == {"No space left on device"}, what="the cause")


def test_the_life_of_a_segment_says_when_it_was_consumed_built_uploaded_and_committed(live: ConsumingWorld) -> None:
    live.create_realtime(rows=20)
    live.start_server()
    live.send(30)
    live.exact(1)
    live.settled()
    poll(lambda: len(live.chain()) == 2, what="a commit")
    url = f"{live.servers[1].admin_url}/tables/{RT}/partitions/0/segmentLives"
    first, second = httpx.get(url, auth=Signed(SECRET)).json()
    assert [first["segmentName"], second["segmentName"]] == live.chain()
    assert (first["state"], second["state"]) == ("COMMITTED", "INITIAL_CONSUMING")
    steps = {step["kind"]: step for step in first["steps"]}
    assert set(steps) == {"consume", "build", "upload", "commit"}
    assert all(step["beganMs"] <= step["endedMs"] and not step["problem"] for step in steps.values())
    assert steps["consume"]["endedMs"] <= steps["commit"]["endedMs"]
    assert second["steps"][-1]["endedMs"] is None


def test_a_file_that_is_waited_for_is_no_failed_download_and_one_that_is_on_record_is() -> None:
    lives, segment = SegmentLives(), "r__0__0__20260101T0000Z"
    downloads, names = Downloads(lives), ("segment_downloads_total", "segment_download_failures_total")

    def counts() -> list[float]:
        page = render(RecordedValues([SERVER], lambda: [("waits_REALTIME",)])).decode()
        lines = [f'pinotadmin_{name}{{source="peer",table="waits_REALTIME"}} ' for name in names]
        return [float(next((x.rpartition(" ")[2] for x in page.splitlines() if x.startswith(one)), 0)) for one in lines]

    for wait in (downloads.awaited, downloads.counted):
        with pytest.raises(OSError), wait("waits_REALTIME", segment, "peer"):
            raise OSError("not there")
    with downloads.awaited("waits_REALTIME", segment, "peer"):
        pass
    assert counts() == [1, 1]
    assert [step["problem"] for step in lives.of("waits_REALTIME", 0)[0]["steps"]] == ["not there", ""]


def test_lives_are_bounded_and_a_failed_step_says_why() -> None:
    lives = SegmentLives()
    names = [f"r__0__{number}__20260101T0000Z" for number in range(100)]
    for name in names:
        lives.entered(RT, name, State.CONSUMING)
    for number in range(100):
        with pytest.raises(OSError), lives.step(RT, names[-1], "build"):
            raise OSError(f"disk {number}")
    lives.entered(RT, names[-1], State.COMMITTING)
    lives.entered(RT, names[-1], State.HOLDING)
    lives.entered(RT, "no-stream-segment", State.CONSUMING)
    kept = lives.of(RT, 0)
    assert [life["segmentName"] for life in kept] == names[-40:]
    steps = kept[-1]["steps"]
    assert len(steps) == 30
    assert steps[-3]["problem"] == "disk 99"
    assert (steps[-1]["kind"], steps[-1]["problem"]) == ("commit", "did not end")
    lives.forget(RT)
    assert lives.of(RT, 0) == []


def test_the_keys_of_each_partition_are_counted(tmp_path: Path) -> None:
    world = KeyedWorld(tmp_path)
    try:
        world.create_keyed({"upsertConfig": {"mode": "FULL"}})
        world.start_server()
        world.put(("a", 1, 1, False), ("b", 1, 2, False), ("a", 2, 3, False))
        line = f'pinotadmin_upsert_primary_keys_count{{partition="0",table="{RT}"}}'
        poll(lambda: metrics(world).get(line) == 2, what="two keys")
        assert not any(name.startswith("pinotadmin_dedup_primary_keys_count") for name in metrics(world))
    finally:
        world.close()


@pytest.mark.parametrize("is_open", [False, True])
def test_figures_are_open_to_strangers_only_where_a_setting_says_so_and_nothing_else_is(
    live: ConsumingWorld, is_open: bool
) -> None:
    server = live.start_server(has_open_metrics=is_open)

    def status(path: str, **headers: str) -> int:
        return httpx.get(f"{server.admin_url}{path}", headers=headers).status_code

    assert status("/metrics") == (200 if is_open else 401)
    assert status("/metrics", authorization="Basic d3Jvbmc6d3Jvbmc=") == 401
    assert status("/tables") == status("/instance/diskUtilization") == 401


def test_what_became_of_the_segments_of_a_table_is_forgotten_with_it(live: ConsumingWorld) -> None:
    live.create_realtime()
    server = live.start_server(drop_grace_s=0.1)
    live.send(5)
    live.exact(1)
    url = f"{server.admin_url}/tables/{RT}/partitions/0/segmentLives"
    assert len(httpx.get(url, auth=Signed(SECRET)).json()) == 1
    live.store.delete(paths.ideal_state(RT))
    poll(lambda: httpx.get(url, auth=Signed(SECRET)).json() == [], what="nothing to be known any more")
