"""What the tasks need beforehand, over REST and uncounted: tables with a history, streams, a message that gave no row,
a colleague.
"""

from __future__ import annotations

import base64
import time
from pathlib import Path
from typing import Any

from bench.newcomer.tasks import CITIES, COLLEAGUE, DAYS, HER_REASON
from bench.realtime_table import RedisFeed, Table, message
from tests.integration.browser.pushing import push
from tests.integration.running import Client, Installation
from tests.waiting import poll

ROWS = 100_000
_PASSWORD = "a colleague of the newcomer"
_MADE = (
    f"from django.contrib.auth.models import User; User.objects.create_superuser({COLLEAGUE!r}, password={_PASSWORD!r})"
)
#: Of the table whose segments end: rows of one, and rows on both sides of the message that does not fit.
_ENDS_AT, _ON_EACH_SIDE = 100, 60


def prepare(installation: Installation) -> None:
    """Tables orders, visits, clicks and trips, as the protocol begins with them."""
    client = Client(installation.endpoints)
    for day in DAYS:
        _pushed(installation, client, "orders", day, f"{day}'s file", 100 + len(day))
    for day in DAYS[:2]:
        _pushed(installation, client, "visits", day, f"{day}'s file", 50)
    why = {"X-Reason": HER_REASON}
    _colleague(installation).call("POST", "/api/v1/tables/visits/snapshots/1/restore", headers=why)
    feed = RedisFeed(installation.endpoints["redis"])
    clicks = Table(client, feed, "clicks", 1).create(rows=100_000, replication=2)
    clicks.send(0, 40)
    _set_aside(client, Table(client, feed, "trips", 1).create(rows=_ENDS_AT, replication=2))
    clicks.wait_rows(40, 60)


def own_file(folder: Path) -> Path:
    """The newcomer's CSV of 100,000 rows."""
    path = folder / "March sales.csv"
    lines = ["order_id,customer,city,amount,quantity,sold_on"]
    lines += [
        f"{i},customer-{i % 977},{CITIES[i % len(CITIES)]},{i % 90_000 / 100:.2f},{i % 12 + 1},2024-03-{i % 31 + 1:02d}"
        for i in range(ROWS)
    ]
    path.write_text("\n".join(lines))
    return path


def _pushed(installation: Installation, client: Client, table: str, name: str, reason: str, rows: int) -> None:
    """A snapshot more, which the history shows."""
    snapshots = f"/api/v1/tables/{table}/snapshots"
    if not (installation.folder / "input" / table).exists():
        client.create(table)
        before = 0
    else:
        before = len(client.call("GET", snapshots).json()["snapshots"])
    push(installation, client, table, name, rows, reason=reason)
    poll(lambda: len(client.call("GET", snapshots).json()["snapshots"]) > before, 30, f"{name} in the history")


def _colleague(installation: Installation) -> Client:
    """Somebody else with all rights."""
    made = installation.manage("shell", "-c", _MADE)
    assert made.returncode == 0, made.stderr
    word = base64.b64encode(f"{COLLEAGUE}:{_PASSWORD}".encode()).decode()
    return Client({**installation.endpoints, "authorization": f"Basic {word}"})


def _set_aside(client: Client, trips: Table) -> None:
    """One message gave no row; the table has been changed since, so that it would give one."""
    trips.send(0, _ON_EACH_SIDE)
    trips.feed.send(trips.name, 0, [_misfit()])
    trips.send(0, _ON_EACH_SIDE)
    trips.wait_rows(2 * _ON_EACH_SIDE, 60)
    config: dict[str, Any] = client.call("GET", f"/tables/{trips.name}").json()["REALTIME"]
    config["ingestionConfig"]["continueOnError"] = True
    client.call("PUT", f"/tables/{trips.name}", json=config)

    def would_give_a_row() -> bool:
        found = client.call("POST", f"/api/v1/tables/{trips.name}/set-aside/replay", json={"dryRun": True}).json()
        return bool(found["rows"] == 1)

    poll(would_give_a_row, 60, "a message set aside that fits now")


def _misfit() -> bytes:
    """``miles`` is no number."""
    good, wrong = b'"miles":999,', b'"miles":"12 mi",'
    sent = message(0, 999, int(time.time() * 1000))
    assert good in sent
    return sent.replace(good, wrong)
