"""The Helm chart has every role, settings that there are, and paths that are answered; read here, without Helm."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from django.urls import resolve

from segments.dataplane.server.http.routes import ROUTES as SERVER_ROUTES
from segments.management.commands.run import ROLES, Command
from segments.processes.roles.commands import POOLS_OF
from tests.integration.two_hosts.document import lists_of
from tests.packaging.settings_named import known_settings, secret_settings

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deployment/helm/pinotadmin"
#: Looks like a setting, and is what Kubernetes would set.
NOT_OURS = {"PINOTADMIN_WEB_PORT"}


def template(name: str) -> str:
    return (CHART / "templates" / name).read_text()


def values() -> dict[str, Any]:
    return yaml.safe_load((CHART / "values.yaml").read_text())  # type: ignore[no-any-return]  # a mapping


def quoted(text: str) -> list[str]:
    return re.findall(r'"([^"]+)"', text)


def test_every_role_runs_and_has_its_values() -> None:
    parser = Command().create_parser("pinotadmin", "run")
    written = re.findall(r'list ("run" "[^)]*)\)|:= list ("run" "server"[^}]*)', template("stable.yaml"))
    found = [parser.parse_args(quoted("".join(words))[1:]) for words in written]
    assert [(one.role, one.admin_port) for one in found] == [("server", 8097), ("web", 8097)]
    background = re.search(r"range \$role := list ([^}]*)}}", template("background.yaml"))
    assert background is not None
    assert {one.role for one in found} | set(quoted(background[1])) == set(ROLES)
    for role in ROLES:
        assert {"replicas", "resources", "nodeSelector", "tolerations", "affinity"} <= set(values()[role]), role


def test_every_setting_in_it_is_one() -> None:
    texts = {path: path.read_text() for path in [*CHART.glob("*.yaml"), *(CHART / "templates").iterdir()]}
    looks_like = r"\b(?:PINOTADMIN|ZOOKEEPER|REDIS|DATABASE|DEEP_STORE|SPARK)_[A-Z_]*[A-Z]\b"
    named = {(path.name, name) for path, text in texts.items() for name in re.findall(looks_like, text)}
    assert len(named) > 20
    assert {(file, name) for file, name in named if name not in known_settings() | NOT_OURS} == set()


def test_no_secret_is_taken_from_values() -> None:
    refused = re.search(r"range \$secret := list([^}]*)}}", template("_settings.tpl"))
    assert refused is not None
    assert set(quoted(refused[1])) == secret_settings()
    assert set(values()["settings"]) & secret_settings() == set()
    assert not any(re.search(r"^kind: Secret$", path.read_text(), re.M) for path in (CHART / "templates").iterdir())


def test_probes_ask_for_paths_that_are_answered_and_files_that_are_touched() -> None:
    pod = template("_pod.tpl")
    asked = set(re.findall(r"httpGet: {path: ([^,]+),", pod))
    assert asked == {"/health/liveness", "/health/readiness"}
    assert asked <= {route.path for route in SERVER_ROUTES}
    assert all(resolve(path).func for path in asked), "of the web process"
    lists = re.search(r"\$files := dict([^}]*)}}", template("background.yaml"))
    assert lists is not None
    files = {role: quoted(names) for role, names in re.findall(r'"(\w+)" \(list ([^)]*)\)', lists[1])}
    named = {role: [pool.name for pool in pools] for role, pools in POOLS_OF.items()}
    assert files == {**named, "mirror": ["mirror"], "beat": ["beat"]}


def test_pods_have_no_more_rights_than_they_need() -> None:
    for text, file in (("_pod.tpl", template("_pod.tpl")), ("setup.yaml", template("setup.yaml"))):
        assert "enableServiceLinks: false" in file, f"{text}: PINOTADMIN_PORT would be an address"
        assert 'include "pinotadmin.restricted"' in file, text
        assert 'include "pinotadmin.container"' in file, text
    rights = yaml.safe_load(re.sub(r"^image.*$", "", _defined("pinotadmin.container"), flags=re.M))
    assert rights["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    user = yaml.safe_load(_defined("pinotadmin.restricted"))
    assert (user["runAsNonRoot"], user["runAsUser"], user["fsGroup"]) == (True, 10001, 10001)
    assert f"USER {user['runAsUser']}:{user['runAsGroup']}" in (ROOT / "deployment/Containerfile").read_text()


def _defined(name: str) -> str:
    found = re.search(rf'{{{{- define "{name}" -}}}}\n(.*?){{{{- end -}}}}', template("_pod.tpl"), re.S)
    assert found is not None, name
    return found[1]


def test_values_are_those_of_the_schema_which_refuses_others() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    checker = jsonschema.Draft7Validator(schema)
    assert [error.message for error in checker.iter_errors(values())] == []
    assert set(schema["properties"]) - {"global"} == set(values())
    wrong = [{"replica": 3}, {"server": {"replica": 3}}, {"settings": {"PINOTADMIN_HISTORY_DAYS": 30}}]
    assert [len(list(checker.iter_errors({**values(), **one}))) for one in wrong] == [1, 1, 1]


def test_the_documents_values_fit_the_schema() -> None:
    (text,) = [text for text in lists_of("On Kubernetes") if "cat > pinotadmin.yaml" in text]
    found = re.search(r"<<END\n(.*?)^END$", text, re.S | re.M)
    assert found is not None
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(yaml.safe_load(found[1]))] == []
    keys = re.findall(r"^([A-Z_]+)=", "".join(lists_of("On Kubernetes")), re.M)
    assert (len(keys), set(keys) - secret_settings()) == (5, set())
