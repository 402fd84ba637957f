"""The page of one partition: charts of its samples, the lives of its segments, who commits, what failed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from segments import wiring
from segments.console.presenters.partition.bars import AFTER_WIDTH, segment_bars
from segments.console.presenters.partition.chart import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, chart
from segments.errors import Unavailable
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster, LagSample, Segment, Table
from segments.services.realtime.segment_lives import Life, Step
from tests.console.conftest import logged_in
from tests.factories import make_finding
from tests.services.embedded_engine import asking
from tests.services.realtime_world import TABLE, RealtimeWorld

pytestmark = pytest.mark.django_db
PAGE = f"/console/tables/{TABLE.typed}/consumption/partitions/0/"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def reader(db: None) -> Client:
    return logged_in("rita")


class Servers:
    """What the servers answer; ``lives`` of the partition's first segment, ``consumers`` of those that consume,
    ``is_down``: nobody answers.
    """

    def __init__(self) -> None:
        self.lives: list[dict[str, Any]] = []
        self.consumers: list[dict[str, Any]] = []
        self.is_down = False

    def ask(self, url: str, method: str, path: str, *_: object) -> Any:
        if self.is_down:
            raise Unavailable("The server does not answer.")
        if path.endswith("/consumingSegmentsInfo"):
            return self.consumers
        return self.lives if path.endswith("/segmentLives") else []


@pytest.fixture
def servers() -> Servers:
    return Servers()


@pytest.fixture
def world(tmp_path: Path, servers: Servers) -> Iterator[RealtimeWorld]:
    made = RealtimeWorld(tmp_path, servers=2, replication=2)
    made.ctx = asking(replace(made.ctx, cluster="pinotadmin"), servers.ask)
    cluster = Cluster.objects.get_or_create(name="pinotadmin")[0]
    ClusterFollower(made.memory, cluster).sync_all()
    with wiring.use(made.ctx):
        yield made


def life(segment: str, state: str, *steps: tuple[str, int, int | None, str]) -> dict[str, Any]:
    """As a server answers; steps are (kind, began, ended, problem)."""
    shown = [{"kind": k, "beganMs": a, "endedMs": b, "problem": problem} for k, a, b, problem in steps]
    return {"segmentName": segment, "state": state, "sinceMs": steps[-1][1], "steps": shown}


def test_charts_show_the_samples_of_the_chosen_hours(reader: Client, world: RealtimeWorld) -> None:
    assert "No sample yet." in reader.get(PAGE).content.decode()
    table, now = Table.objects.get(name=TABLE.typed), timezone.now()
    for minutes, messages in ((300, 70_000), (50, 12), (49, 40), (48, 7)):
        LagSample.objects.create(
            table=table,
            partition=0,
            at=now - timedelta(minutes=minutes),
            messages=messages,
            behind_ms=1500,
            offset="42",
        )
    text = reader.get(PAGE).content.decode()
    assert "Messages behind: 7 now, at most 70,000" in text
    assert "Time behind: 1.5 s now" in text
    assert "Offset: 42 now" in text
    assert "Messages behind: 7 now, at most 40" in reader.get(f"{PAGE}?hours=1").content.decode()
    assert "Last 6 hours" in reader.get(f"{PAGE}?hours=<b>").content.decode()
    LagSample.objects.filter(messages=70_000).delete()
    assert "Last hour" in reader.get(PAGE).content.decode(), "no more than there are samples of"


def test_the_life_of_a_segment_is_shown_as_bars_and_in_words(
    reader: Client, world: RealtimeWorld, servers: Servers
) -> None:
    segment, t0 = world.segments(0)[0], int(timezone.now().timestamp() * 1000) - 100_000
    servers.lives = [
        life(
            segment, "COMMITTING", ("consume", t0, t0 + 60_000, ""), ("build", t0 + 60_000, t0 + 61_200, ""),
            ("upload", t0 + 61_200, t0 + 61_500, "The disk <is> full."), ("commit", t0 + 60_000, None, ""),
        )
    ]  # fmt: skip
    text = reader.get(PAGE).content.decode()
    for words in (
        "commits <span", segment, "1 min", "built 1.2 s", 'class="bar-build"', 'class="bar-failed"',
        'class="bar-commit"', "upload failed: The disk &lt;is&gt; full.", "upload failed after 300 ms on",
        "What failed",
    ):  # fmt: skip
        assert words in text
    assert "The disk <is>" not in text


def test_what_fails_again_and_again_is_shown_once_with_the_number_of_times(
    reader: Client, world: RealtimeWorld, servers: Servers
) -> None:
    segment, t0, problem = world.segments(0)[0], int(timezone.now().timestamp() * 1000) - 100_000, "No file is there."
    tries = [("download", t0 + n * 1_000, t0 + n * 1_000 + 5, problem) for n in range(30)]
    servers.lives = [life(segment, "ONLINE", *tries, ("upload", t0, t0 + 5, "The disk is full."))]
    text = reader.get(PAGE).content.decode()
    # two servers, each in the line of the segment and in the list; and the label of each bar
    assert text.count(f"download failed 30 times lately: {problem}") == 2
    assert text.count("30 times lately, the last") == 2
    assert text.count(f'<div class="long">{problem}</div>') == 2
    assert text.count('<div class="long">The disk is full.</div>') == 2


def test_a_segment_that_no_server_has_is_not_shown_as_done(reader: Client, world: RealtimeWorld) -> None:
    Segment.objects.filter(partition=0).update(status="DONE", is_consuming=False, replicas_wanted=2, replicas_online=1)
    assert "ERROR" not in reader.get(PAGE).content.decode()
    Segment.objects.filter(partition=0).update(replicas_online=0)
    assert "ERROR" in reader.get(PAGE).content.decode()


def test_what_a_pinot_does_not_report_is_not_blamed_on_its_stream(reader: Client, world: RealtimeWorld) -> None:
    table = Table.objects.get(name=TABLE.typed)
    LagSample.objects.create(table=table, partition=0, at=timezone.now(), offset="42")
    assert "offsets of this stream do not count messages" in reader.get(PAGE).content.decode()
    engine = replace(world.ctx.engine, offers=replace(world.ctx.engine.offers, own_processes=False))
    with wiring.use(replace(world.ctx, engine=engine)):
        text = reader.get(PAGE).content.decode()
    assert "this Pinot does not report it" in text
    assert "offsets of this stream" not in text
    assert "not countable" not in text


def test_a_server_that_does_not_answer_is_named_and_the_rest_is_shown(
    reader: Client, world: RealtimeWorld, servers: Servers
) -> None:
    servers.is_down = True
    make_finding(table_name=TABLE.typed, subject="0", message="Partition 0 stands still.")
    make_finding(table_name=TABLE.typed, subject="1", message="Another partition.")
    text = reader.get(PAGE).content.decode()
    assert "what they did is not shown" in text
    assert world.segments(0)[0] in text
    assert "Partition 0 stands still." in text
    assert f"/console/findings/?table={TABLE.typed}" in text, "where it is fixed or snoozed"
    assert "Another partition." not in text


@pytest.mark.parametrize("state", ["CONSUMING", "NOT_CONSUMING"])
def test_a_segment_is_consumed_only_where_a_server_says_so(
    reader: Client, world: RealtimeWorld, servers: Servers, state: str
) -> None:
    """Also on a cluster whose servers report nothing of a segment's life."""
    Segment.objects.update(creation_ms=1_000)
    servers.consumers = [{"segmentName": s, "consumerState": state} for s in world.segments(0)]
    text = reader.get(PAGE).content.decode()
    last = text[text.index("Last segments") :]
    is_consumed = state == "CONSUMING"
    for words in ("being consumed", "so far", "CONSUMING"):
        assert (words in last) == is_consumed
    for words in ("nobody consumes it", "no server consumes"):
        assert (words in last) == (not is_consumed)
    assert ("no server consumes" in text) == (not is_consumed), "the head says the same"


def test_the_page_refreshes_itself_and_is_reached_from_the_list(reader: Client, world: RealtimeWorld) -> None:
    assert f'href="{PAGE}"' in reader.get(f"/console/tables/{TABLE.typed}/consumption/").content.decode()
    fragment = reader.get(PAGE, headers={"HX-Request": "true"}).content.decode()
    assert fragment.lstrip().startswith('<div id="partition"')


def test_a_partition_without_a_segment_says_so(reader: Client, world: RealtimeWorld) -> None:
    for number in ("77", "9" * 30):
        answer = reader.get(PAGE.replace("/0/", f"/{number}/"))
        assert answer.status_code == 200
        assert "No segment of this partition yet" in answer.content.decode()
    assert reader.get("/console/tables/nobody_OFFLINE/consumption/partitions/0/").status_code == 404


def minutes(*values: float | None) -> list[tuple[datetime, float | None]]:
    """A sample a minute, the last one now."""
    return [(NOW - timedelta(minutes=len(values) - 1 - n), value) for n, value in enumerate(values)]


def test_lines_keep_to_the_box_and_the_largest_value_touches_its_top() -> None:
    drawn = chart("x", "X", minutes(0, 5, 10), NOW - timedelta(minutes=2), NOW, str)
    points = [tuple(map(float, point.split(","))) for point in drawn.lines[0].split()]
    assert points[0] == (LEFT, HEIGHT - BOTTOM)
    assert points[-1] == (WIDTH - RIGHT, TOP)
    assert (drawn.last, drawn.most) == ("10", "10")


def test_what_was_not_known_is_a_gap_and_a_lone_sample_a_dot() -> None:
    samples = minutes(1, 2, None, None, None, None, None, 3)
    drawn = chart("x", "X", samples, NOW - timedelta(minutes=10), NOW, str)
    assert (len(drawn.lines), len(drawn.dots)) == (1, 1)
    assert chart("x", "X", minutes(None, None), NOW - timedelta(minutes=10), NOW, str).is_empty


def test_a_day_of_samples_is_a_few_hundred_points_and_keeps_its_peak() -> None:
    samples = minutes(*[0.0] * 700, 1000.0, *[0.0] * 739)
    drawn = chart("x", "X", samples, NOW - timedelta(hours=24), NOW, str)
    points = drawn.lines[0].split()
    assert len(points) < 400
    assert any(point.endswith(f",{TOP:.1f}") for point in points)


def test_labels_of_the_time_axis_stand_at_round_times() -> None:
    drawn = chart("x", "X", minutes(*[1.0] * 360), NOW - timedelta(hours=6), NOW, str)
    assert [tick.text for tick in drawn.columns] == ["07:00", "08:00", "09:00", "10:00", "11:00", "12:00"]


def test_a_commit_that_hangs_is_cut_and_does_not_make_the_others_a_hair() -> None:
    segments = [
        Segment(name=f"t__0__{n}__20260101T0000Z", partition=0, sequence=n, creation_ms=n * 1000) for n in (2, 1, 0)
    ]
    lives = [
        Life("s", s.name, "", 0, (Step("consume", 0, 500, ""), Step("build", 1000, 2000 if s.sequence else None, "")))
        for s in segments
    ]
    rows = segment_bars(segments, lives, now_ms=3_600_000)
    widths = [bar.width for row in rows for bar in row.after]
    assert widths[0] == widths[1] > AFTER_WIDTH / 5
    assert widths[2] <= AFTER_WIDTH
    assert [row.consumed_ms for row in rows] == [500, 500, 500]
    assert [row.consumed_ms for row in segment_bars(segments, [], now_ms=3_600_000)] == [None, 1000, 1000]
