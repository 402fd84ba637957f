"""Web processes and two servers that speak TLS alone, set up by the lists of docs/deployment.md: a push, queries,
commits, downloads of one server from the other, and everybody who is refused.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from tests.integration.browser.pushing import push
from tests.integration.running import ROOT, Client, Installation
from tests.integration.test_realtime_basic import Table
from tests.integration.two_hosts.document import lists_of
from tests.tls.files import HAS_OPENSSL, MISSING, Authority, new_authority
from tests.waiting import poll

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not HAS_OPENSSL, reason=MISSING),
]


def settings_of(folder: Path) -> dict[str, str]:
    """As the document sets them, with the files in ``folder``."""
    lines = lists_of("TLS between the parts")[2].replace("/etc/pinotadmin", str(folder)).split()
    return dict(line.split("=", 1) for line in lines)


@dataclass
class OverTls:
    """The installation, and who signs its certificates."""

    installation: Installation
    authority: Authority
    client: Client


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OverTls]:
    folder = tmp_path_factory.mktemp("over_tls")
    authority = new_authority(folder)
    authority.sign("127.0.0.1")
    # Servers reach no deep store: they hand what they commit to a web process.
    options = ("--segment-store", "none", "--web-processes", "2")
    installation = Installation(folder / "data", *options, settings=settings_of(folder)).start(150)
    yield OverTls(installation, authority, Client(installation.endpoints))
    assert installation.stop() == 0, installation.log.read_text()[-4000:]


def test_a_push_a_rollback_and_queries(running: OverTls) -> None:
    client = running.client
    assert client.base.startswith("https://")
    client.create("sales")
    push(running.installation, client, "sales", "first", 100)
    push(running.installation, client, "sales", "second", 50)
    poll(lambda: client.counts("sales") == {"second": 50}, 30, "the second snapshot")
    for server in running.installation.endpoints["servers"]:
        config = client.call("GET", f"/instances/{server['instance']}").json()
        assert server["admin"] == f"https://127.0.0.1:{config['adminPort']}"
    done = running.installation.manage("client", "tables")
    assert (done.returncode, "sales" in done.stdout) == (0, True), done.stderr


def stored(running: OverTls, table: str) -> list[Path]:
    """The files of its segments in the deep store."""
    return [path for path in (running.installation.folder / "deepstore" / table).rglob("*") if path.is_file()]


def committed(running: OverTls, name: str, peers: str | None) -> Table:
    """A table of a stream with two commits behind it."""
    table = Table(running.installation, running.client, name, rows=100, peers=peers)
    poll(table.is_settled, 30, "consuming")
    table.send(250)
    table.exact()
    poll(lambda: len(table.state()[0]) == 3 and table.is_settled(), 60, "two commits")
    return table


def test_servers_hand_what_they_commit_to_a_web_process(running: OverTls) -> None:
    committed(running, "rt_handed", None)
    poll(lambda: len(stored(running, "rt_handed")) == 2, 30, "their files in the deep store")


def test_a_server_gets_its_segments_from_the_other_one(running: OverTls) -> None:
    installation, table = running.installation, committed(running, "rt_peers", "https")
    for path in stored(running, "rt_peers"):
        path.unlink()
    first, second = (server["instance"] for server in installation.endpoints["servers"])
    data = ("--data-dir", str(installation.folder))
    installation.manage("server", "stop", first, *data)
    shutil.rmtree(installation.folder / "servers" / "server-1")
    installation.manage("server", "start", first, *data)
    poll(table.is_settled, 90, "the wiped server has everything from the other one")
    installation.manage("server", "stop", second, *data)
    table.exact()
    installation.manage("server", "start", second, *data)
    poll(table.is_settled, 90, "both again")


def test_who_speaks_no_tls_or_believes_others_gets_no_answer(running: OverTls) -> None:
    urls = [running.client.base, *(server["admin"] for server in running.installation.endpoints["servers"])]
    for url in urls:
        with pytest.raises(requests.exceptions.SSLError):
            requests.get(f"{url}/health/liveness", timeout=10)
        with pytest.raises(requests.exceptions.ConnectionError):
            requests.get(f"{url.replace('https:', 'http:')}/health/liveness", timeout=10)


def test_a_part_whose_certificate_others_would_not_believe_says_which_file_and_stops(
    running: OverTls, tmp_path: Path
) -> None:
    stranger = new_authority(tmp_path)
    stranger.sign("127.0.0.1")
    wrong = {**settings_of(tmp_path), "PINOTADMIN_TLS_CA": str(running.authority.file)}
    running.authority.sign("127.0.0.1", "expired", days=-1)
    ended = {name: value.replace("/tls.", "/expired.") for name, value in settings_of(running.authority.folder).items()}
    for settings, command, words in (
        (wrong, ("up", "--port", "0"), "unable to get local issuer certificate"),
        (ended, ("run_server", "--name", "late"), "certificate has expired"),
    ):
        settings = {**settings, "PINOTADMIN_DATA_DIR": str(tmp_path / "data")}
        done = subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *command],
            cwd=ROOT, env=running.installation.environment(settings), capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert (done.returncode, words in said, "Traceback" in said) == (1, True, False), said
        assert settings["PINOTADMIN_TLS_CERTIFICATE"] in said
