"""The lists of docs/deployment.md for Kubernetes, run as they stand but for the cluster itself: programs that would
call it take down what they were asked instead, and read it as far as the real ones are on this machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.integration.two_hosts.document import lists_of
from tests.packaging.settings_named import known_settings
from tests.packaging.test_chart_rendered import HELM, ROOT

KUBECTL = shutil.which("kubectl")
#: What stands for an installation's own values.
WORDS: Final = {
    "REGISTRY": "registry.example", "REDIS": "redis://:secret@redis:6379/0", "SHARED_STORAGE": "shared",
    "DATABASE": "postgresql://pinotadmin:secret@postgres/pinotadmin", "ADMIN_PASSWORD": "a-long-enough-secret",
    "ZOOKEEPER": "zookeeper-0.zookeeper:2181,zookeeper-1.zookeeper:2181", "DEEP_STORE": "s3://bucket/segments",
}  # fmt: skip
_TAKE_DOWN: Final = '#!/bin/sh\necho "$(basename "$0") $*" >> "$ASKED"\n'
#: Real ones, where they are, that talk to no cluster. A secret is also kept as a file of its variables.
_KUBECTL: Final = f"""{_TAKE_DOWN}case "$*" in
*--from-env-file=*) cp "${{7#--from-env-file=}}" kept.env ;;
esac
case "$3" in
create) ${{KUBECTL:-true}} "$@" --dry-run=client -o yaml > /dev/null ;;
esac
"""
_HELM: Final = f"""{_TAKE_DOWN}shift
[ "$1" = --install ] && shift
${{HELM:-true}} template "$@" --kube-version 1.31.0 > rendered.yaml
"""


@dataclass
class Done:
    """Where the lists were run, and what programs were asked in their order."""

    folder: Path
    asked: list[str]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("kubernetes")
    (folder / "deployment").symlink_to(ROOT / "deployment")
    programs = folder / "programs"
    programs.mkdir()
    for name, script in (("docker", _TAKE_DOWN), ("kubectl", _KUBECTL), ("helm", _HELM)):
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
    commands = "\n".join(lists_of("On Kubernetes"))
    for word, value in WORDS.items():
        commands, count = re.subn(rf"(?<=[=: ]){word}\b", value, commands)
        assert count, f"{word} does not stand in the lists"
    found = {"ASKED": str(folder / "asked"), "KUBECTL": KUBECTL or "", "HELM": HELM or ""}
    ran = subprocess.run(
        ["sh", "-e", "-c", commands],
        cwd=folder, env={**os.environ, **found, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return Done(folder, (folder / "asked").read_text().splitlines())


def test_every_list_runs_and_asks_for_image_secrets_and_chart(done: Done) -> None:
    assert [" ".join(line.split()[:2]) for line in done.asked[:3]] == ["docker build", "docker push", "kubectl create"]
    secrets = [line.split()[6] for line in done.asked if " create secret generic " in line]
    assert secrets == [yaml.safe_load(_values(done))["existingSecret"], "pinotadmin-admin"]
    assert len([line for line in done.asked if line.startswith("helm upgrade ")]) == 3
    for file in (word for line in done.asked for word in line.split() if word.startswith("deployment/")):
        assert (ROOT / file).exists(), file
    assert not (done.folder / "secrets.env").exists(), "secrets stay in the cluster alone"


def _values(done: Done) -> str:
    return (done.folder / "pinotadmin.yaml").read_text()


def _secret(done: Done) -> dict[str, str]:
    lines = (done.folder / "kept.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def _checked(environment: dict[str, str]) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "pinotadmin", "config", "check"],
        cwd=ROOT, env={"PATH": os.environ["PATH"], **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ran.stdout + ran.stderr


def test_nothing_is_wrong_with_the_settings_that_the_lists_make(done: Done) -> None:
    settings = yaml.safe_load(_values(done))["settings"]
    given = {**settings, **_secret(done)}
    assert set(given) <= known_settings()
    assert _checked(given) == "Nothing is wrong.\n"


@pytest.mark.skipif(HELM is None, reason="Helm is not installed: CONTRIBUTING.md says how")
def test_nothing_is_wrong_with_what_each_container_is_started_with(done: Done) -> None:
    manifests = [one for one in yaml.safe_load_all((done.folder / "rendered.yaml").read_text()) if one]
    (shared,) = [one["data"] for one in manifests if one["kind"] == "ConfigMap"]
    found = {str(container["args"]): _environment(container) for one in manifests for container in _containers(one)}
    assert len(found) == 8
    for arguments, own in found.items():
        assert _checked({**shared, **_secret(done), **own}) == "Nothing is wrong.\n", arguments


def _containers(manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    pod = manifest.get("spec", {}).get("template", {}).get("spec", {})
    yield from [*pod.get("initContainers", ()), *pod.get("containers", ())]


def _environment(container: dict[str, Any]) -> dict[str, str]:
    """Of a pod with the name and the address that Kubernetes gives it."""
    found: dict[str, str] = {}
    for entry in container["env"]:
        source = entry.get("valueFrom", {})
        text = entry.get("value") or ("10.0.0.7" if "status.podIP" in str(source) else "pinotadmin-0")
        found[entry["name"]] = str(text).replace("$(POD_NAME)", found.get("POD_NAME", ""))
    return {name: text for name, text in found.items() if name != "PINOTADMIN_ADMIN_PASSWORD"}
