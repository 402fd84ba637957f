"""A port that several web processes share: connections to it wait for another process, and are refused without one."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from segments.processes.roles.shared_port import SharedPort
from segments.processes.roles.web_port import open_socket
from tests.real_parts import free_ports


@dataclass
class Web:
    """What a web process has open: its own port, and its share of the common one."""

    sockets: list[socket.socket] = field(default_factory=list)

    def listen(self, port: int, shared: SharedPort) -> None:
        self.sockets = [open_socket("127.0.0.1", port), socket.socket(fileno=os.dup(shared.descriptor))]
        for one in self.sockets:
            one.listen(8)

    def die(self) -> None:
        for one in self.sockets:
            one.close()


@dataclass
class Port:
    """The common port, and two web processes that may listen at it."""

    number: int
    shared: SharedPort
    webs: tuple[Web, Web]

    def start(self, which: int) -> None:
        self.webs[which].listen(self.number + 1 + which, self.shared)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.number), 5)


@pytest.fixture
def port() -> Iterator[Port]:
    number = free_ports(3)
    with SharedPort("127.0.0.1", number, (number + 1, number + 2)) as shared:
        made = Port(number, shared, (Web(), Web()))
        yield made
        for web in made.webs:
            web.die()


def test_a_connection_waits_for_the_other_process_when_one_died(port: Port) -> None:
    port.start(0)
    port.start(1)
    port.webs[0].die()
    with port.connect():
        assert port.shared.refuse_unless_answered()
        accepted, _ = port.webs[1].sockets[1].accept()
        accepted.close()


def test_without_any_process_connections_are_refused_also_those_that_wait(port: Port) -> None:
    port.start(0)
    with port.connect() as waits:
        port.webs[0].die()
        assert not port.shared.refuse_unless_answered()
        with pytest.raises(ConnectionResetError):
            waits.recv(1)
    with pytest.raises(ConnectionRefusedError):
        port.connect()


def test_a_process_that_starts_again_is_reached_at_the_same_port(port: Port) -> None:
    for _ in range(2):
        port.start(1)
        with port.connect():
            accepted, _ = port.webs[1].sockets[1].accept()
            accepted.close()
        port.webs[1].die()
        assert not port.shared.refuse_unless_answered()


def test_a_process_that_begins_to_listen_in_that_moment_is_reached(port: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answered() -> bool:
        asked.append(True)
        if len(asked) == 1:
            port.start(0)
            return False
        return True

    monkeypatch.setattr(port.shared, "_is_answered", answered)
    assert port.shared.refuse_unless_answered()
    with port.connect():
        accepted, _ = port.webs[0].sockets[1].accept()
        accepted.close()


def test_before_the_first_process_listens_there_is_nothing_to_refuse(port: Port) -> None:
    assert not port.shared.refuse_unless_answered()
    with pytest.raises(ConnectionRefusedError):
        port.connect()
