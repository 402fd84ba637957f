"""Ports are chosen once and kept, because instance ids and table configs name them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from segments.errors import RecordCorrupt, StateConflict
from segments.processes.machine.ports import Ports, ServerPorts, Wanted, choose_ports, is_free, listener_of


def taken(*ports: int) -> Callable[[str, int], bool]:
    """A machine on which exactly these ports are in use."""
    return lambda _host, port: port not in ports


def test_a_new_directory_gets_the_well_known_ports(tmp_path: Path) -> None:
    ports = choose_ports(tmp_path / "ports.json", Wanted(web=None, servers=2), free=taken())
    assert ports == Ports(9000, 2191, 6390, (ServerPorts(8098, 8097), ServerPorts(8096, 8095)))


def test_ports_that_are_in_use_are_replaced_by_free_ones(tmp_path: Path) -> None:
    ports = choose_ports(tmp_path / "ports.json", Wanted(web=9100, servers=1), free=taken(2191, 8098))
    assert (ports.web, ports.redis, ports.servers[0].admin) == (9100, 6390, 8097)
    assert {ports.zookeeper, ports.servers[0].port}.isdisjoint({2191, 8098})


def test_port_0_takes_free_ports_everywhere_and_never_one_twice(tmp_path: Path) -> None:
    ports = choose_ports(tmp_path / "ports.json", Wanted(web=0, servers=3), free=taken())
    all_ports = [ports.web, ports.zookeeper, ports.redis, *(p for s in ports.servers for p in (s.port, s.admin))]
    assert len(set(all_ports)) == 9
    assert all(20_000 <= port < 32_000 for port in all_ports)


def test_a_restart_keeps_every_port(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    first = choose_ports(path, Wanted(web=0, servers=2), free=taken())
    assert choose_ports(path, Wanted(web=0, servers=2), free=taken()) == first
    assert choose_ports(path, Wanted(web=None, servers=2), free=taken()) == first


def test_servers_that_are_left_out_once_come_back_under_their_names(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    three = choose_ports(path, Wanted(web=0, servers=3), free=taken())
    assert choose_ports(path, Wanted(web=0, servers=1), free=taken()).servers == three.servers[:1]
    assert choose_ports(path, Wanted(web=0, servers=3), free=taken()).servers == three.servers


def test_a_web_port_in_use_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(StateConflict, match=r"Web port 9000 is in use.*--port 0"):
        choose_ports(tmp_path / "ports.json", Wanted(web=None, servers=2), free=taken(9000))
    assert not (tmp_path / "ports.json").exists()


def test_with_port_0_a_web_port_in_use_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    first = choose_ports(path, Wanted(web=0, servers=0), free=taken())
    assert choose_ports(path, Wanted(web=0, servers=0), free=taken(first.web)).web != first.web


def test_a_servers_port_never_moves_but_its_admin_port_may(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    first = choose_ports(path, Wanted(web=0, servers=1), free=taken())
    with pytest.raises(StateConflict, match=f"Server port {first.servers[0].port} is in use"):
        choose_ports(path, Wanted(web=0, servers=1), free=taken(first.servers[0].port))
    moved = choose_ports(path, Wanted(web=0, servers=1), free=taken(first.servers[0].admin, first.zookeeper))
    assert moved.servers[0].port == first.servers[0].port
    assert moved.servers[0].admin != first.servers[0].admin
    assert moved.zookeeper != first.zookeeper


def test_the_redis_port_never_moves_because_table_configs_name_it(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    first = choose_ports(path, Wanted(web=0, servers=0), free=taken())
    with pytest.raises(StateConflict, match=f"Redis port {first.redis} is in use"):
        choose_ports(path, Wanted(web=0, servers=0), free=taken(first.redis))


def test_an_external_part_needs_no_port_but_its_old_one_is_remembered(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    first = choose_ports(path, Wanted(web=0, servers=0), free=taken())
    without = choose_ports(path, Wanted(web=0, servers=0, redis=False), free=taken(first.redis))
    assert without.redis == 0
    assert choose_ports(path, Wanted(web=0, servers=0), free=taken()).redis == first.redis


def test_a_broken_file_is_an_error_and_not_a_new_directory(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    path.write_text("{")
    with pytest.raises(RecordCorrupt, match=r"ports\.json is not valid JSON"):
        choose_ports(path, Wanted(web=0, servers=1), free=taken())


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the process in the way is found through /proc")
def test_the_process_in_the_way_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not is_free("127.0.0.1", port)
        assert (listener_of(port) or "").startswith(f"process {os.getpid()} (")
    assert is_free("127.0.0.1", port)
    assert listener_of(port) is None
