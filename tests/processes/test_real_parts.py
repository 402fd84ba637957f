"""The commands for ZooKeeper and Redis start real servers that answer their probes and keep their data."""

from __future__ import annotations

import asyncio
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis
from kazoo.client import KazooClient

from segments.processes.machine.java import Java, bundled_java
from segments.processes.machine.ports import PortChooser
from segments.processes.machine.valkey import redis_command
from segments.processes.machine.zookeeper import zookeeper_command
from segments.processes.probes import Probe, http_probe, redis_probe, zookeeper_probe

pytestmark = pytest.mark.integration


def answer(probe: Probe) -> bool:
    """What a probe says, on a thread of its own: a browser test of the same run may have left an event loop on this
    one.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(_once(probe))).result()


async def _once(probe: Probe) -> bool:
    return await probe()


class Running:
    """A started command that is killed at the end of the block."""

    def __init__(self, command: list[str], probe: Probe) -> None:
        self._command = command
        self._probe = probe

    def __enter__(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while not answer(self._probe):
            assert self._process.poll() is None, "it ended"
            assert time.monotonic() < deadline, "it does not answer"
            time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def test_redis_keeps_what_it_answered_for_over_kill_9(tmp_path: Path) -> None:
    port = PortChooser(preferred=False).any_port()
    command = redis_command(tmp_path / "with space", port, "secret")
    for round_number in (1, 2):
        with (
            Running(command, redis_probe(port, "secret")),
            redis.Redis(port=port, password="secret", protocol=2) as client,
        ):
            assert client.incr("rounds") == round_number
            assert not answer(redis_probe(port, "wrong"))


def test_zookeeper_on_the_wheels_java_keeps_nodes_over_kill_9(tmp_path: Path) -> None:
    java = bundled_java()
    assert isinstance(java, Java)
    port = PortChooser(preferred=False).any_port()
    command = zookeeper_command(tmp_path / "with space", port, java.executable)
    for present in (False, True):
        with Running(command, zookeeper_probe(port)):
            client = KazooClient(f"127.0.0.1:{port}", timeout=4.0)
            client.start(10)
            try:
                assert bool(client.exists("/kept")) is present
                assert client._session_timeout == 4000
                client.ensure_path("/kept")
            finally:
                client.stop()
                client.close()


def test_a_probe_of_nothing_says_no() -> None:
    port = PortChooser(preferred=False).any_port()
    assert not answer(zookeeper_probe(port))
    assert not answer(http_probe("127.0.0.1", port, "/health"))
