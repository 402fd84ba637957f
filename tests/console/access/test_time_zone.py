"""Times of pages are in the person's zone once they choose one; UTC is one click away, and programs get UTC."""

from __future__ import annotations

from datetime import UTC, datetime

from django.test import Client
from django.utils import timezone

from segments.models import AuditEvent
from tests.factories import make_event

ZONES = "/console/time-zone/"
PAGE = "/console/audit/"


def test_a_person_reads_times_in_their_zone_and_in_utc_again(viewer: Client) -> None:
    make_event()
    AuditEvent.objects.update(at=datetime(2026, 1, 15, 22, 30, tzinfo=UTC))
    assert "2026-01-15 22:30:00" in viewer.get(PAGE).content.decode()
    answer = viewer.post(ZONES, {"zone": "Europe/Berlin"}, headers={"Referer": f"http://testserver{PAGE}?q=x"})
    assert (answer.status_code, answer.headers["Location"]) == (302, f"http://testserver{PAGE}?q=x")
    text = viewer.get(PAGE).content.decode()
    assert "2026-01-15 23:30:00" in text
    assert 'datetime="2026-01-15T22:30:00Z"' in text
    assert "Times are Europe/Berlin" in text
    # What is typed is in that zone, too; programs and the next request of somebody else are not.
    assert "23:30:00" in viewer.get(PAGE, {"since": "2026-01-15T23:29", "until": "2026-01-15T23:31"}).content.decode()
    assert viewer.get("/api/v1/audit").json()["events"][0]["at"].startswith("2026-01-15T22:30")
    assert timezone.get_current_timezone_name() == "UTC"
    viewer.post(ZONES, {"zone": "UTC"})
    assert "2026-01-15 22:30:00" in viewer.get(PAGE).content.decode()


def test_what_is_no_zone_is_refused_and_nobody_is_led_elsewhere(viewer: Client) -> None:
    for zone in ("", "Mars/Base", "../../etc/passwd", "x" * 5000):
        assert viewer.post(ZONES, {"zone": zone}).status_code == 400
    answer = viewer.post(ZONES, {"zone": "Asia/Tokyo"}, headers={"Referer": "https://evil.example/"})
    assert answer.headers["Location"] == "/"
