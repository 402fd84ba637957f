"""The Helm chart rendered by Helm itself, and what comes out checked by the schemas of Kubernetes.

`make test-deployment` runs these where both are installed (CONTRIBUTING.md); Helm is a Go program of 100 MB.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from segments.management.commands.run import ROLES
from tests.integration.two_hosts.document import lists_of
from tests.packaging.settings_named import known_settings, secret_settings

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deployment/helm/pinotadmin"
TOOLS = Path(os.environ.get("DEPLOYMENT_TOOLS", ROOT / ".venv-deployment/bin"))
HELM = shutil.which("helm", path=f"{TOOLS}{os.pathsep}{os.environ['PATH']}")
SCHEMAS = shutil.which("kubernetes-validate", path=str(TOOLS))
#: The oldest that Chart.yaml takes, and the newest whose schemas there are.
VERSIONS: Final = ("1.25", "1.35")

pytestmark = pytest.mark.skipif(HELM is None, reason="Helm is not installed: CONTRIBUTING.md says how")
Manifest = dict[str, Any]


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A Helm that Go built does not know of which Kubernetes it is, so it is named."""
    assert HELM is not None
    kubernetes = ["--kube-version", "1.31.0"]
    return subprocess.run([HELM, *arguments, *kubernetes], capture_output=True, text=True, timeout=60, check=False)


def documented_values() -> str:
    """Those of docs/deployment.md, with something in place of the words in capitals."""
    (text,) = [text for text in lists_of("On Kubernetes") if "cat > pinotadmin.yaml" in text]
    found = re.search(r"<<END\n(.*?)^END$", text, re.S | re.M)
    assert found is not None
    return re.sub(r": ([A-Z_]+)$", lambda word: f": {word[1].lower().replace('_', '-')}", found[1], flags=re.M)


@pytest.fixture(scope="module", params=["documented", "everything"])
def values(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param == "everything":
        return ROOT / "tests/packaging/chart_values.yaml"
    path = tmp_path_factory.mktemp("chart") / "values.yaml"
    path.write_text(documented_values())
    return path


@pytest.fixture(scope="module")
def rendered(values: Path) -> str:
    done = helm("template", "pinotadmin", str(CHART), "-n", "data", "-f", str(values))
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def manifests(rendered: str) -> list[Manifest]:
    return [document for document in yaml.safe_load_all(rendered) if document]


def pods(manifests: list[Manifest]) -> Iterator[tuple[str, Manifest]]:
    """(role, spec) of every pod."""
    for one in manifests:
        if "template" in one.get("spec", {}):
            yield one["metadata"]["labels"]["app.kubernetes.io/component"], one["spec"]["template"]["spec"]


def test_helm_has_nothing_to_say_against_it(values: Path) -> None:
    done = helm("lint", "--strict", str(CHART), "-f", str(values))
    assert (done.returncode, "[WARNING]" in done.stdout) == (0, False), done.stdout + done.stderr


@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_schemas_take_all_of_it(rendered: str, version: str, tmp_path: Path) -> None:
    if SCHEMAS is None:
        pytest.skip("kubernetes-validate is not installed: CONTRIBUTING.md says how")
    (tmp_path / "manifests.yaml").write_text(rendered)
    command = [SCHEMAS, "-k", version, "--strict", str(tmp_path / "manifests.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" passed for resource ") == len(re.findall("^kind: ", rendered, re.M))


def test_every_role_is_a_workload_and_the_database_is_set_up_before(manifests: list[Manifest]) -> None:
    found = dict(pods(manifests))
    assert {role: found[role]["containers"][0]["args"][:2] for role in ROLES} == {r: ["run", r] for r in ROLES}
    assert set(found) == {*ROLES, "setup"}
    (job,) = [one for one in manifests if one["kind"] == "Job"]
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    steps = [*found["setup"]["initContainers"], *found["setup"]["containers"]]
    assert [step["args"] for step in steps] == [["config", "check", "--connect"], ["setup_database"]]


def test_what_is_set_is_a_setting_and_secrets_are_only_referred_to(manifests: list[Manifest]) -> None:
    plain = {name for one in manifests if one["kind"] == "ConfigMap" for name in one["data"]}
    for _, pod in pods(manifests):
        for container in [*pod.get("initContainers", ()), *pod["containers"]]:
            plain |= {entry["name"] for entry in container["env"] if "secretKeyRef" not in entry.get("valueFrom", {})}
            assert {"secretRef": {"name": "pinotadmin"}} in container["envFrom"]
    assert plain - known_settings() == {"POD_NAME"}
    assert plain & secret_settings() == set()
    assert [one for one in manifests if one["kind"] == "Secret"] == []


def test_pods_run_as_nobody_special_and_write_to_volumes_only(manifests: list[Manifest]) -> None:
    for role, pod in pods(manifests):
        assert pod["enableServiceLinks"] is False, role
        assert (pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"]) == (True, 10001), role
        assert pod["automountServiceAccountToken"] is (pod.get("serviceAccountName") == "spark"), role
        for container in [*pod.get("initContainers", ()), *pod["containers"]]:
            rights = container["securityContext"]
            assert (rights["readOnlyRootFilesystem"], rights["allowPrivilegeEscalation"]) == (True, False), role
            places = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
            run = set() if role == "setup" else {"/var/lib/pinotadmin/run"}
            assert places == {"/var/lib/pinotadmin", "/tmp", *run}, role


def test_web_processes_and_servers_keep_the_names_by_which_others_find_them(manifests: list[Manifest]) -> None:
    services = {one["metadata"]["name"]: one["spec"] for one in manifests if one["kind"] == "Service"}
    for one in manifests:
        if one["kind"] == "StatefulSet":
            headless = services[one["spec"]["serviceName"]]
            assert (headless["clusterIP"], headless["publishNotReadyAddresses"]) == ("None", True)
            (host,) = [e for e in one["spec"]["template"]["spec"]["containers"][0]["env"] if e["name"].endswith("HOST")]
            assert host["value"] == f"$(POD_NAME).{one['spec']['serviceName']}.data.svc.cluster.local"
            assert headless["selector"] == one["spec"]["selector"]["matchLabels"]
    assert services["pinotadmin-web"]["selector"]["app.kubernetes.io/component"] == "web"


def test_with_tls_who_is_called_shows_a_certificate_and_everybody_has_the_authority(
    values: Path, manifests: list[Manifest]
) -> None:
    is_on = bool(yaml.safe_load(values.read_text()).get("tls"))
    (shared,) = [one["data"] for one in manifests if one["kind"] == "ConfigMap"]
    assert shared.get("PINOTADMIN_TLS_CA") == ("/etc/pinotadmin/tls/ca.crt" if is_on else None)
    for role, pod in pods(manifests):
        volumes = [volume["secret"] for volume in pod["volumes"] if volume["name"] == "tls"]
        assert [one["secretName"] for one in volumes] == (["pinotadmin-parts"] if is_on else []), role
        (container,) = pod["containers"]
        shown = [entry["name"] for entry in container["env"] if entry["name"].startswith("PINOTADMIN_TLS_C")]
        is_called = role in ("web", "server")
        if is_on:
            assert ("items" in volumes[0], "PINOTADMIN_TLS_CERTIFICATE" in shown) == (not is_called, is_called), role
            assert [m["mountPath"] for m in container["volumeMounts"] if m["name"] == "tls"] == ["/etc/pinotadmin/tls"]
        if is_called:
            schemes = {container[f"{kind}Probe"]["httpGet"]["scheme"] for kind in ("startup", "liveness", "readiness")}
            assert schemes == {"HTTPS" if is_on else "HTTP"}, role


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("settings.DATABASE_URL=postgresql://u:hidden@h/n", "settings.DATABASE_URL is a secret"),
        ("settings.PINOTADMIN_HOST=x", "settings.PINOTADMIN_HOST is set by the chart"),
        ("settings.PINOTADMIN_TLS_CA=/x", "settings.PINOTADMIN_TLS_CA is set by the chart"),
        ("settings.ZOOKEEPER_URL=", "settings.ZOOKEEPER_URL names"),
        ("existingSecret=", "existingSecret names the Secret"),
        ("server.replica=3", "replica"),
        ("ingress.host=", "ingress.host is the name"),
    ],
)
def test_wrong_values_are_refused_with_what_to_do(wrong: str, words: str) -> None:
    values = ROOT / "tests/packaging/chart_values.yaml"
    done = helm("template", "pinotadmin", str(CHART), "-f", str(values), "--set", wrong)
    assert (done.returncode != 0, words in done.stderr, "hidden" in done.stderr) == (True, True, False), done.stderr


def test_what_is_not_wanted_is_left_out() -> None:
    values = ROOT / "tests/packaging/chart_values.yaml"
    off = "networkPolicy.enabled=false,ingress.enabled=false,podDisruptionBudget.enabled=false,sharedData.enabled=false"
    done = helm("template", "other", str(CHART), "-f", str(values), "--set", off)
    kinds = {document["kind"] for document in yaml.safe_load_all(done.stdout) if document}
    assert kinds == {"ConfigMap", "Job", "StatefulSet", "Deployment", "Service"}
    assert "other-pinotadmin-web" in done.stdout
