"""A local Spark listens on loopback only, and each of its ports refuses strangers."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from segments.processes.sessions import session_of
from segments.spark import session

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
MASTER = "local[2]"
_LISTENING = "0A"
_RPC, _ANSWER = 3, 4


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A session whose Python workers run."""
    session.warm(MASTER)
    yield session.context(MASTER)
    session.forget()


def family(root: int) -> set[int]:
    """The process and all that came of it."""
    parents = {
        int(p.name): _parent(p)
        for p in Path("/proc").iterdir()
        if p.name.isdigit() and session_of(int(p.name)) is not None
    }
    found, before = {root}, set[int]()
    while found != before:
        before, found = found, found | {pid for pid, parent in parents.items() if parent in found}
    return found


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def listening(pids: set[int]) -> dict[int, tuple[str, int]]:
    """{port: (address in hex, pid)} of TCP ports on which these processes listen."""
    inodes = {}
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                inodes[os.readlink(link).removeprefix("socket:[").rstrip("]")] = pid
            except OSError:
                continue
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    found = {}
    for fields in lines:
        if fields[3] == _LISTENING and fields[9] in inodes:
            address, port = fields[1].split(":")
            found[int(port, 16)] = (address, inodes[fields[9]])
    return found


def say(port: int, question: bytes) -> bytes:
    """What a port answers to a stranger before it hangs up."""
    with socket.create_connection(("127.0.0.1", port), 20) as connection:
        connection.settimeout(20)
        connection.sendall(question)
        with suppress(OSError):  # it has hung up already
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while data := connection.recv(4096):
                answer += data
        except ConnectionResetError:
            pass
        return answer


def test_all_ports_are_on_loopback_and_are_those_that_are_tried_here(spark: Any) -> None:
    ports = listening(family(os.getpid()))
    jvm = {port for port, (_, pid) in ports.items() if pid == spark._gateway.proc.pid}
    assert {address[-8:] for port, (address, _) in ports.items()} == {"0100007F"}, ports
    assert len(jvm) == 3, "the gateway, the driver and the block manager"
    assert {gateway_port(spark), driver_port(spark), blocks_port(spark)} == jvm


def gateway_port(spark: Any) -> int:
    return int(spark._gateway.gateway_parameters.port)


def driver_port(spark: Any) -> int:
    return int(spark._conf.get("spark.driver.port"))


def blocks_port(spark: Any) -> int:
    jvm = spark._gateway.proc.pid
    return (set(listening({jvm})) - {gateway_port(spark), driver_port(spark)}).pop()


def test_the_driver_talks_to_nobody_without_the_secret(spark: Any) -> None:
    jvm = spark._jvm
    conf, manager = jvm.org.apache.spark.SparkConf(False), jvm.org.apache.spark.SecurityManager
    defaults = [getattr(manager, f"$lessinit$greater$default${n}")() for n in (2, 3)]
    stranger = jvm.org.apache.spark.rpc.RpcEnv.create(
        "stranger", "127.0.0.1", "127.0.0.1", -1, conf, manager(conf, *defaults), 1, True
    )
    try:
        with pytest.raises(Py4JJavaError):
            stranger.setupEndpointRefByURI(f"spark://HeartbeatReceiver@127.0.0.1:{driver_port(spark)}")
    finally:
        stranger.shutdown()


def test_the_block_manager_gives_nobody_a_block(spark: Any) -> None:
    strings = b"".join(struct.pack(">i", len(text)) + text for text in (spark.applicationId.encode(), b"driver"))
    open_no_blocks = b"\0" + strings + struct.pack(">i", 0)
    frame = struct.pack(">qbqi", 21 + len(open_no_blocks), _RPC, 7, len(open_no_blocks)) + open_no_blocks
    answer = say(blocks_port(spark), frame)
    assert answer[8:9] != bytes([_ANSWER]), answer


def test_the_gateway_of_java_runs_nothing_without_its_token(spark: Any) -> None:
    assert len(spark._gateway.gateway_parameters.auth_token) >= 32
    answer = say(gateway_port(spark), b"c\nz:java.lang.System\ngetenv\ne\n")
    assert b"Authentication" in answer, answer
    assert b"PATH" not in answer


def test_the_daemon_of_python_workers_takes_no_guessed_secret(spark: Any) -> None:
    ports = listening(family(spark._gateway.proc.pid))
    daemons = [port for port, (_, pid) in ports.items() if pid != spark._gateway.proc.pid]
    assert daemons
    for port in daemons:
        answer = say(port, struct.pack(">i", 5) + b"guess")
        assert answer[4:] in (b"", struct.pack(">i", 3) + b"err"), "first comes the worker's process id"


def test_no_secret_of_spark_stands_in_a_command_line(spark: Any) -> None:
    lines = [Path(f"/proc/{pid}/cmdline").read_text() for pid in family(os.getpid())]
    token = spark._gateway.gateway_parameters.auth_token
    assert any("spark.authenticate=true" in line for line in lines)
    assert [line for line in lines if token in line or "spark.authenticate.secret" in line] == []
