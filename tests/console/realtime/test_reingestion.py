"""Buttons that read broken segments again, and that take partitions back, in the console and in Django's admin."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from django.test import Client

from segments import wiring
from segments.domain.realtime.reingestion.job import Job, State
from segments.domain.segments.ideal_state import external_view
from segments.errors import NotFound
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import AuditEvent, Cluster, ConsumingSegment, Segment
from segments.segmentfile import build_segment, write_tar
from segments.services.realtime import consumption
from segments.services.tables.schemas import read_schema
from segments.services.tables.table_record import read_table_config
from segments.store import paths
from segments.store.records.reingestions import JOBS, read_job
from segments.store.update import update_record
from tests.console.conftest import logged_in
from tests.factories import CLUSTER, make_user
from tests.services.embedded_engine import asking
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld

PAGE = f"/console/tables/{TABLE.typed}/consumption/"
REINGEST = f"{PAGE}reingest/"
WHY = {"reason": "the disks are gone"}


class LostWorld(RealtimeWorld):
    """Partition 0 has a segment of ten messages that no server has; servers put jobs on record and no more."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.lost = self.consuming[0]
        self.commit("10")
        self.set_record(self.lost, segment_realtime_status="COMMITTING")
        for partition in (0, 1):
            self.streams.topics["a"][partition] = [0, 25]
        self.ctx = asking(replace(self.ctx, cluster=CLUSTER), self._ask)
        consumption.pause_table(self.ctx, TABLE, actor=ANN)
        self.asked: list[str] = []
        self.show()

    def show(self) -> LostWorld:
        """External view and mirror, with the lost segment in ERROR."""
        states = {s: dict.fromkeys(r, "ERROR" if s == self.lost else "ONLINE") for s, r in self.ideal.maps.items()}
        view = external_view(self.ideal, states)
        update_record(self.memory, paths.external_view(TABLE.typed), lambda _: view)
        cluster, _ = Cluster.objects.get_or_create(name=CLUSTER)
        ClusterFollower(self.memory, cluster).sync_all()
        return self

    def _ask(self, _url: str, method: str, path: str, *_: object) -> Any:
        if method != "POST" or not path.startswith("/reingestSegment/"):
            return []
        self.asked.append(path)
        segment = path.removeprefix("/reingestSegment/").partition("?")[0]
        if segment != self.lost:
            raise NotFound("No such segment.")
        job = Job("j1", TABLE.typed, segment, "Server_s_8098", self.now, "0", "10", "4", State.READING, 4, self.now)
        JOBS.write(self.memory, paths.reingestion(TABLE.typed, segment), job)
        return job.to_pinot()


@pytest.fixture
def world(tmp_path: Path, db: None) -> Iterator[LostWorld]:
    """A realtime table with one broken segment, mirrored."""
    world = LostWorld(tmp_path)
    with wiring.use(world.ctx, None):
        yield world


@pytest.fixture
def operator(db: None) -> Client:
    return logged_in("olga", "operate")


@pytest.fixture
def root(db: None) -> Client:
    return logged_in("root", is_superuser=True)


def text(answer: Any) -> str:
    return re.sub(r"\s+", " ", answer.content.decode())


def test_the_tab_shows_a_broken_segment_its_range_and_how_far_it_is_read_again(
    operator: Client, world: LostWorld
) -> None:
    assert "Broken segments" in text(operator.get(PAGE))
    address = f"{REINGEST}?s={world.lost}"
    assert address in text(operator.get(PAGE))
    shown = text(operator.get(address))
    for words in (world.lost, ">0<", ">10<", "exactly these offsets", "yes"):
        assert words in shown
    assert operator.post(address, {"s": world.lost}).status_code == 422  # no reason
    answer = operator.post(REINGEST, {"s": world.lost, **WHY}, follow=True)
    for words in ("1 segment is being read from the stream again by Server_s_8098", "READING", "40 %", "4 rows"):
        assert words in text(answer)
    assert f"{REINGEST}{world.lost}/cancel/" in text(answer)
    event = AuditEvent.objects.get(action="reingestSegment")
    assert (event.actor, event.reason, event.detail["segment"]) == ("olga", WHY["reason"], world.lost)


def test_all_broken_segments_are_read_again_with_one_button_which_then_is_disabled(
    operator: Client, world: LostWorld
) -> None:
    assert operator.post(REINGEST, WHY).status_code == 302
    assert len(world.asked) == 1
    assert "It is being reingested already." in text(operator.get(REINGEST))
    assert operator.post(REINGEST, WHY).status_code == 409


def test_a_reingestion_is_cancelled_and_can_be_begun_again(operator: Client, world: LostWorld) -> None:
    operator.post(REINGEST, WHY)
    address = f"{REINGEST}{world.lost}/cancel/"
    assert "discarded" in text(operator.get(address))
    answer = operator.post(address, WHY, follow=True)
    assert f"The reingestion of {world.lost} is cancelled." in text(answer)
    assert "Reingest again" in text(answer)
    job = read_job(world.memory, TABLE.typed, world.lost)
    assert job is not None
    assert job.state is State.CANCELLED
    assert operator.post(address, WHY).status_code == 409


def test_lost_messages_are_named_and_are_left_out_only_when_that_is_ticked(operator: Client, world: LostWorld) -> None:
    world.streams.topics["a"][0][0] = 4
    shown = text(operator.get(REINGEST))
    assert "0 to 4" in shown
    assert "Build without the rows that the stream has lost" in shown
    refused = operator.post(REINGEST, {"s": world.lost, **WHY})
    assert refused.status_code == 409
    assert "those from 0 to 4" in text(refused)
    assert world.asked == []
    assert operator.post(REINGEST, {"s": world.lost, "accept_loss": "on", **WHY}).status_code == 302
    assert "acceptLoss=true" in world.asked[0]


def test_a_stored_file_is_offered_next_to_the_lost_messages_and_restored_after_a_confirmation(
    operator: Client, world: LostWorld, tmp_path: Path
) -> None:
    world.streams.topics["a"][0] = [5, 25]
    restore = f"{REINGEST}{world.lost}/restore/"
    assert restore in text(operator.get(f"{REINGEST}?s={world.lost}"))
    assert "there is none to restore" in text(operator.get(restore))
    schema, config = read_schema(world.ctx, TABLE.raw), read_table_config(world.ctx, TABLE)
    rows = pa.table({"id": ["a", "b"], "ts": [1_700_000_000_000] * 2})
    out = tmp_path / "kept"
    build_segment(rows, schema, config, world.lost, out, creation_time_ms=1, realtime_offsets=("0", "10"))
    write_tar(out / world.lost, out / "s.tar.gz")
    world.ctx.deep_store.put(out / "s.tar.gz", f"{TABLE.raw}/{world.lost}.tmp.left")
    assert f"{TABLE.raw}/{world.lost}.tmp.left" in text(operator.get(restore))
    assert "is restored from" in text(operator.post(restore, WHY, follow=True))
    assert world.fields(world.lost)["segment.realtime.status"] == "DONE"


def test_where_nothing_is_broken_the_button_says_so(operator: Client, world: LostWorld) -> None:
    world.lost = ""
    world.show()
    assert "Broken segments" not in text(operator.get(PAGE))
    assert "No segment of this table is broken" in text(operator.get(REINGEST))


def test_a_pinot_without_reingestion_says_which_version_has_it(operator: Client, world: LostWorld) -> None:
    """One that has it reingests on its own, which is then said instead."""
    offers, reason = replace(world.ctx.engine.offers, own_processes=False), "Pinot 0.11.0 has no reingestion."
    for lacking, shown in ((reason, reason), ("", "has them reingest what is lost")):
        engine = replace(world.ctx.engine, offers=offers, lacks=lambda *_, found=lacking: found)
        with wiring.use(replace(world.ctx, engine=engine)):
            text = html.unescape(operator.get(f"{PAGE}reingest/").content.decode())
        assert shown in text
        assert ("RealtimeSegmentValidationManager" in text) is (not lacking)


def test_without_the_right_nothing_is_read_again(world: LostWorld) -> None:
    reader = logged_in("vera")
    assert "Reingest…" not in text(reader.get(PAGE))
    assert reader.post(REINGEST, WHY).status_code == 403
    assert world.asked == []


def test_a_segments_page_leads_to_both_buttons(operator: Client, world: LostWorld) -> None:
    shown = text(operator.get(f"/console/tables/{TABLE.typed}/segments/{world.lost}/"))
    assert f"{REINGEST}?s={world.lost}" in shown
    assert f"{PAGE}delete-from/{world.lost}/" in shown


def test_a_deletion_from_a_segment_on_shows_first_what_goes_and_what_is_read_again(
    root: Client, world: LostWorld
) -> None:
    address = f"{PAGE}delete-from/{world.lost}/"
    shown = text(root.get(address))
    for words in (world.lost, "Read again from", ">0<", ">10<", "reads the rows again", TABLE.typed):
        assert words in shown
    assert world.lost in world.ideal.maps
    assert root.post(address, WHY).status_code == 422  # the name is not typed
    answer = root.post(address, {"confirm": TABLE.typed, **WHY})
    assert answer.status_code == 302
    assert world.lost not in world.ideal.maps
    assert "Resume" in text(root.get(PAGE))


def test_a_deletion_warns_of_rows_that_the_stream_has_lost(root: Client, world: LostWorld) -> None:
    world.streams.topics["a"][0][0] = 4
    shown = text(root.get(f"{PAGE}delete-from/{world.lost}/"))
    assert "the stream has lost the rows from 0 to 4" in shown
    assert "the last place that has them" in shown


def test_a_deletion_needs_a_pause(root: Client, world: LostWorld) -> None:
    consumption.resume_table(world.ctx, TABLE, actor=ANN)
    shown = text(root.get(f"{PAGE}delete-from/{world.lost}/"))
    assert "should be paused before deleting segments" in shown


SEGMENTS = "/admin/segments/segment/"


def opened(root: Client, answer: Any) -> tuple[str, str, dict[str, list[str]]]:
    """The console's page that the admin leads to: its address, its text and what its form carries along."""
    shown = root.get(answer["Location"]).content.decode()
    fields: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', shown):
        fields.setdefault(name, []).append(value)
    return answer["Location"], shown, fields


def test_the_admin_finds_broken_segments_and_reads_one_again_after_a_confirmation(
    root: Client, world: LostWorld
) -> None:
    listed = text(root.get(f"{SEGMENTS}?broken=yes"))
    assert world.lost in listed
    assert all(s not in listed for s in world.ideal.maps if s != world.lost)
    row = Segment.objects.get(name=world.lost)
    address = f"{SEGMENTS}{row.pk}/reingest/"
    page, shown, fields = opened(root, root.get(address))
    assert f"Reingest {world.lost}" in shown
    answer = root.post(page, {**fields, **WHY}, follow=True)
    assert answer.redirect_chain[-1][0] == SEGMENTS
    assert "1 segment is being read from the stream again" in text(answer)
    assert "READING: 4 rows, at 4 of 10, by Server_s_8098" in text(root.get(f"{SEGMENTS}{row.pk}/change/"))
    assert "It is being reingested already." in text(root.get(address, follow=True))


def test_the_admin_reads_selected_segments_again_and_leaves_healthy_ones_alone(root: Client, world: LostWorld) -> None:
    rows = list(Segment.objects.order_by("name"))
    chosen = {"action": "reingest_selected", "_selected_action": [r.pk for r in rows]}
    page, _, fields = opened(root, root.post(SEGMENTS, chosen))
    assert sorted(fields["s"]) == [r.name for r in rows]
    answer = root.post(page, {**fields, **WHY}, follow=True)
    assert "1 segment is being read from the stream again" in text(answer)
    assert "Not begun:" in text(answer)
    assert len(world.asked) == 1


def test_the_admin_reads_a_tables_broken_segments_again_from_a_consuming_one(root: Client, world: LostWorld) -> None:
    consumption.resume_table(world.ctx, TABLE, actor=ANN)
    world.show()
    row = ConsumingSegment.objects.first()
    assert row is not None
    page, shown, fields = opened(root, root.get(f"/admin/segments/consumingsegment/{row.pk}/reingest/"))
    assert world.lost in shown
    answer = root.post(page, {**fields, **WHY}, follow=True)
    assert answer.redirect_chain[-1][0] == "/admin/segments/consumingsegment/"
    assert len(world.asked) == 1


def test_the_admin_asks_for_the_right_on_the_table(world: LostWorld) -> None:
    staff = Client()
    staff.force_login(make_user("stan", "view_segment", is_staff=True))
    page = staff.get(f"{SEGMENTS}{Segment.objects.get(name=world.lost).pk}/reingest/")["Location"]
    assert staff.post(page, {"s": world.lost, **WHY}).status_code == 403
    assert world.asked == []
