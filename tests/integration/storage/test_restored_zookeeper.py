"""A ZooKeeper that comes back as a copy of its data from earlier has it, under a running installation: everything
answers again by itself, and shows the records of then.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import requests

from tests.integration.running import Client, Installation, administrator
from tests.real_parts import start_zookeeper
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]


def test_an_installation_goes_on_with_what_a_restored_zookeeper_knows(tmp_path: Path) -> None:
    zookeeper = start_zookeeper(tmp_path / "zookeeper")
    settings = {"ZOOKEEPER_URL": zookeeper.hosts}
    installation = Installation(tmp_path / "data", "--servers", "2", settings=settings).start(180)
    try:
        client = Client(installation.endpoints)
        client.create("sales")
        client.upload("sales", "kept")
        client.online("sales", "kept")
        zookeeper.kill()
        shutil.copytree(tmp_path / "zookeeper", tmp_path / "copy")
        zookeeper.start()
        poll(lambda: _status(client, "/tables/sales/idealstate") == 200, 60, "answers with ZooKeeper")
        installation.wait_healthy(120)
        client.upload("sales", "later")
        client.online("sales", "later")
        client.create("made_later")
        before, page = _pids(installation), _signed_in(installation)

        zookeeper.kill()
        shutil.rmtree(tmp_path / "zookeeper")
        shutil.copytree(tmp_path / "copy", tmp_path / "zookeeper")
        zookeeper.start()

        poll(lambda: _tables(client) == ["sales"], 60, "a web process that answers with the tables of then")
        poll(lambda: client.counts("sales") == {"kept": 10}, 60, "queries over the segments of then")
        poll(lambda: "made_later" not in page.get(f"{client.base}/", timeout=30).text, 60, "the page")
        client.create("afterwards")
        client.upload("afterwards", "a")
        client.online("afterwards", "a")
        poll(lambda: client.counts("afterwards") == {"a": 10}, 30, "queries over what was made afterwards")
        poll(lambda: "afterwards" in page.get(f"{client.base}/", timeout=30).text, 60, "the mirror")
        installation.wait_healthy(120)
        assert _pids(installation) == before, "a process was started again"
    finally:
        assert installation.stop() == 0, installation.log.read_text()[-4000:]
        zookeeper.stop()


def _status(client: Client, path: str) -> int:
    return client.http.get(client.base + path, timeout=30).status_code


def _tables(client: Client) -> list[str]:
    answer = client.http.get(f"{client.base}/tables", timeout=30)
    assert answer.status_code in (200, 503), answer.text[:500]
    return sorted(answer.json().get("tables", ["none: 503"]))


def _pids(installation: Installation) -> dict[str, int]:
    found = installation.endpoints
    servers = {server["instance"]: server["pid"] for server in found["servers"]}
    return {**found["pids"], **servers}


def _signed_in(installation: Installation) -> requests.Session:
    session, base = requests.Session(), installation.endpoints["controller"]
    session.trust_env = False
    session.get(f"{base}/login/", timeout=30)
    user, password = administrator(installation.endpoints)
    form = {"username": user, "password": password, "csrfmiddlewaretoken": session.cookies["csrftoken"]}
    session.post(f"{base}/login/", form, headers={"Referer": base}, timeout=30).raise_for_status()
    return session
