"""What ``up`` starts, in which order and with which settings."""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from pinotadmin.configuration.given import Given
from pinotadmin.configuration.setting_texts import as_networks
from segments.domain.jobs.workers.pools import POOLS
from segments.errors import InvalidInput
from segments.gateways.tls.certificate import Certificate
from segments.processes.machine.credentials import Credentials, load_credentials
from segments.processes.machine.java import Java
from segments.processes.machine.ports import Ports, ServerPorts
from segments.processes.machine.valkey import redis_command
from segments.processes.machine.zookeeper import format_zookeeper_config, zookeeper_jars
from segments.processes.plan import Options, Plan, Planner
from segments.processes.run import format_banner

PORTS = Ports(9000, 2191, 6390, (ServerPorts(8098, 8097), ServerPorts(8096, 8095)))
CREDENTIALS = Credentials("the password", "cluster secret", "django key", "redis-password", "zookeeper-password")


def make_plan(
    folder: Path,
    environ: dict[str, str] | None = None,
    *,
    demo: bool = False,
    host: str = "127.0.0.1",
    proxies: Sequence[str] = (),
    silence_s: float = 15.0,
    certificate: Certificate | None = None,
) -> Plan:
    """The plan of a cluster with two servers."""
    options = Options(
        folder, host, (folder / "extra",), demo=demo, trusted_proxies=proxies, silence_s=silence_s,
        certificate=certificate,
    )  # fmt: skip
    return Planner(options, PORTS, CREDENTIALS, Java(Path("/java"), 17), environ or {}).plan()


def test_all_parts_are_there_and_know_what_they_need(tmp_path: Path) -> None:
    specs = {spec.name: spec for spec in make_plan(tmp_path).specs}
    assert list(specs) == [
        "zookeeper",
        "redis",
        "setup",
        "server-1",
        "server-2",
        "web",
        "mirror",
        "worker",
        "repairs",
        "passes",
        "validation",
        "beat",
    ]
    assert all(need in list(specs)[:position] for position, spec in enumerate(specs.values()) for need in spec.after)
    assert specs["server-2"].aliases == ("Server_127.0.0.1_8096",)
    assert specs["worker"].command.environment["JAVA_HOME"] == "/java"
    assert "JAVA_HOME" not in specs["passes"].command.environment


def test_with_a_certificate_web_and_servers_are_reached_over_tls(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, certificate=Certificate("/etc/tls.pem", "/etc/tls.key"))
    assert (plan.endpoints.web, plan.endpoints.servers[0].admin) == ("https://127.0.0.1:9000", "https://127.0.0.1:8097")
    (web,) = [" ".join(spec.command.arguments) for spec in plan.specs if spec.name == "web"]
    assert "web_port alone pinotadmin.asgi:application --ssl-certfile /etc/tls.pem --ssl-keyfile /etc/tls.key " in web
    (plain,) = [spec.command.arguments for spec in make_plan(tmp_path).specs if spec.name == "web"]
    assert plain[1:3] == ("-m", "uvicorn")


def test_the_control_plane_counts_into_one_folder_and_each_server_for_itself(tmp_path: Path) -> None:
    folders = {
        spec.name: spec.command.environment.get("PROMETHEUS_MULTIPROC_DIR") for spec in make_plan(tmp_path).specs
    }
    assert {n for n, folder in folders.items() if folder} == {"web", "mirror", *(pool.name for pool in POOLS)}
    assert {folder for folder in folders.values() if folder} == {str(tmp_path / "run" / "metrics")}


def test_settings_reach_the_children_by_environment_only(tmp_path: Path) -> None:
    specs = {spec.name: spec for spec in make_plan(tmp_path).specs}
    environment = specs["web"].command.environment
    assert environment["ZOOKEEPER_URL"] == "127.0.0.1:2191"
    assert environment["REDIS_URL"] == "redis://:redis-password@127.0.0.1:6390/0"
    assert environment["DATABASE_URL"] == f"sqlite://{tmp_path}/db.sqlite3"
    assert environment["DEEP_STORE_URL"] == f"file://{tmp_path}/deepstore"
    assert environment["PINOTADMIN_INPUT_ROOTS"] == f"{tmp_path}/input{os.pathsep}{tmp_path}/extra"
    assert "PINOTADMIN_ADMIN_PASSWORD" not in environment
    assert specs["setup"].command.environment["PINOTADMIN_ADMIN_PASSWORD"] == "the password"
    hidden = {"the password", "cluster secret", "django key", "redis-password", "zookeeper-password"}
    assert not [
        word for spec in specs.values() for word in spec.command.arguments if any(secret in word for secret in hidden)
    ]


def test_external_parts_are_not_started(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, {"ZOOKEEPER_URL": "zk:2181", "REDIS_URL": "redis://there:6379/1", "DATABASE_URL": ""})
    assert [spec.name for spec in plan.specs][:2] == ["setup", "server-1"]
    assert plan.specs[0].command.environment["DATABASE_URL"].startswith("sqlite://")
    document = plan.endpoints.document({})
    assert (document["zookeeper"], document["redis"]) == ("zk:2181", "redis://there:6379/1")


def test_a_host_that_means_all_addresses_is_reached_over_loopback(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, host="0.0.0.0")
    web = next(spec for spec in plan.specs if spec.name == "web")
    assert "0.0.0.0" in web.command.arguments
    assert web.command.environment["PINOTADMIN_HOST"] == "127.0.0.1"
    assert web.command.environment["PINOTADMIN_BIND_HOST"] == "0.0.0.0"
    assert plan.endpoints.document({})["controller"] == "http://127.0.0.1:9000"


def test_the_demo_runs_only_when_asked_for(tmp_path: Path) -> None:
    assert make_plan(tmp_path).demo is None
    demo = make_plan(tmp_path, demo=True).demo
    assert demo is not None
    assert demo.command.arguments[1:] == ("-m", "pinotadmin", "demo")
    assert demo.once


def test_credentials_are_made_once_and_private(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    first = load_credentials(path, {})
    again = load_credentials(path, {"PINOTADMIN_ADMIN_PASSWORD": "too late"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (first.created, again.created) == (True, False)
    assert again.admin_password == first.admin_password
    assert len(first.admin_password) >= 12
    assert "password" not in repr(first).replace("admin_password", "")
    assert load_credentials(tmp_path / "other.json", {"PINOTADMIN_ADMIN_PASSWORD": "mine"}).admin_password == "mine"


@pytest.mark.parametrize("variable", ["PINOTADMIN_CLUSTER_SECRET", "PINOTADMIN_SECRET_KEY"])
@pytest.mark.parametrize("weak", ["secret", "x" * 64, "changeme" * 8, "0123456789abcdef0123456789abcde"])
def test_a_weak_secret_is_refused_before_anything_starts(tmp_path: Path, variable: str, weak: str) -> None:
    with pytest.raises(InvalidInput, match=f"{variable}.*token_hex"):
        load_credentials(tmp_path / "secrets.json", {variable: weak})
    assert not (tmp_path / "secrets.json").exists()
    field = {"PINOTADMIN_CLUSTER_SECRET": "cluster_secret", "PINOTADMIN_SECRET_KEY": "secret_key"}[variable]
    (tmp_path / "old.json").write_text(json.dumps({field: weak}))
    with pytest.raises(InvalidInput, match=r"old\.json: take it out"):
        load_credentials(tmp_path / "old.json", {})
    strong = secrets.token_hex(32)
    assert getattr(load_credentials(tmp_path / "secrets.json", {variable: strong}), field) == strong


def test_forwarded_addresses_are_believed_of_named_proxies_only(tmp_path: Path) -> None:
    def options(environ: dict[str, str], proxies: Sequence[str] = ()) -> tuple[str, ...]:
        plan = make_plan(tmp_path, environ, proxies=proxies)
        return next(spec for spec in plan.specs if spec.name == "web").command.arguments

    assert "--no-proxy-headers" in options({"FORWARDED_ALLOW_IPS": "*"})
    named = options({}, Given({"P": "127.0.0.1, 10.0.0.0/24"}).value("P", "", "", as_networks))
    assert named[named.index("--forwarded-allow-ips") + 1] == "127.0.0.1,10.0.0.0/24"
    for odd in ("*", "proxy.example", "10.0.0.0/33"):
        with pytest.raises(ImproperlyConfigured, match="PINOTADMIN_TRUSTED_PROXIES"):
            Given({"PINOTADMIN_TRUSTED_PROXIES": odd}).value("PINOTADMIN_TRUSTED_PROXIES", "", "", as_networks)


def test_processes_are_restarted_after_the_silence_that_was_set(tmp_path: Path) -> None:
    assert {spec.timing.silence for spec in make_plan(tmp_path, silence_s=3.5).specs} == {3.5}


def test_the_password_is_shown_on_the_first_run_only(tmp_path: Path) -> None:
    first = Credentials("the password", "", "", "", "", created=True)
    assert "the password" in format_banner(make_plan(tmp_path), first, tmp_path, 1.0)
    later = format_banner(make_plan(tmp_path), CREDENTIALS, tmp_path, 1.0)
    assert "the password" not in later
    assert str(tmp_path / "secrets.json") in later


def test_zookeeper_and_redis_listen_on_loopback_and_hide_the_password(tmp_path: Path) -> None:
    config = format_zookeeper_config(tmp_path, 2191)
    assert "clientPortAddress=127.0.0.1\n" in config
    assert "admin.enableServer=false\n" in config
    assert any(jar.name.startswith("zookeeper-jute-") for jar in zookeeper_jars())
    command = redis_command(tmp_path / "redis", 6390, "hidden")
    assert "hidden" not in " ".join(command)
    file = Path(command[1])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "bind 127.0.0.1\n" in file.read_text()
    assert "appendonly yes\n" in file.read_text()
