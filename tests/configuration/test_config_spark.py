"""``pinotadmin config spark``: the settings for YARN and Kubernetes that docs/operations.md lists are Spark's own, with
values that Spark takes, and make the pods they are meant to make.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from pinotadmin.configuration import spark
from segments.secret_texts import MASK
from segments.spark.cluster_settings import ClusterSettings, _yarn_problems, cluster_settings

_DOCUMENT = Path(__file__).resolve().parents[2] / "docs/operations.md"


def _documented(heading: str) -> str:
    """The first list of settings behind these words."""
    found = re.search(rf"^{heading}.*?^```\n(.*?)^```$", _DOCUMENT.read_text(), re.S | re.M)
    assert found is not None
    return found[1]


def _of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, master: str, defaults: str) -> ClusterSettings:
    (tmp_path / "spark-defaults.conf").write_text(defaults)
    (tmp_path / "yarn-site.xml").write_text("<configuration/>")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    return cluster_settings(master)


def _keys(text: str) -> set[str]:
    return {line.split()[0] for line in text.splitlines()}


def test_what_is_documented_for_yarn_is_sparks_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "env.tar.gz").touch()
    # Spark looks for the archive when it starts, and there is no HDFS here.
    text = _documented("On YARN").replace("hdfs:///pinotadmin", f"file://{tmp_path}")
    found = _of(tmp_path, monkeypatch, "yarn", text)
    assert ([one for one in found.settings if one.problem], found.problems) == ([], ())
    from_file = {one.key for one in found.settings if one.source == str(tmp_path / "spark-defaults.conf")}
    assert _keys(text) <= from_file


def test_what_is_documented_for_kubernetes_makes_the_pod_of_an_executor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = _documented("On Kubernetes")
    found = _of(tmp_path, monkeypatch, "k8s://https://kubernetes.default.svc", text)
    assert ([one for one in found.settings if one.problem], found.problems) == ([], ())
    pod: dict[str, Any] = yaml.safe_load(found.pod)
    (container,) = pod["spec"]["containers"]
    assert (pod["kind"], pod["metadata"]["labels"]["spark-role"]) == ("Pod", "executor")
    assert container["image"] == "REGISTRY/spark-pinotadmin:0.2.0"
    assert container["resources"]["requests"] == {"cpu": "2", "memory": "4096Mi"}
    variables = {one["name"]: one for one in container["env"]}
    assert variables["AWS_SECRET_ACCESS_KEY"]["valueFrom"]["secretKeyRef"] == {"name": "deep-store", "key": "secretKey"}
    assert variables["_SPARK_AUTH_SECRET"]["value"] == MASK, "what proves an executor is not shown"


def test_what_spark_does_not_know_or_take_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["spark.executor.instancs 4", "spark.executor.memoryOverhead 3x", "spark.authenticate.secret hidden-text"]
    found = _of(tmp_path, monkeypatch, "k8s://https://kubernetes.default.svc", "\n".join(lines))
    problems = {one.key: one.problem for one in found.settings if one.problem}
    assert set(problems) == {"spark.executor.instancs", "spark.executor.memoryOverhead"}
    assert "has no such setting" in problems["spark.executor.instancs"]
    assert "bytes" in problems["spark.executor.memoryOverhead"]
    assert len(found.problems) == 1
    assert "image" in found.problems[0] or "memoryOverhead" in found.problems[0]
    monkeypatch.setattr("segments.spark.cluster_settings.cluster_settings", lambda master: found)
    assert spark.show("k8s://https://kubernetes.default.svc", tmp_path, as_json=False) == 1
    printed = capsys.readouterr().out
    assert printed.count("WRONG: ") == 2
    assert "hidden-text" not in printed


def test_yarn_without_its_addresses_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    assert "HADOOP_CONF_DIR is not set" in _yarn_problems("yarn")[0]
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    assert str(tmp_path) in _yarn_problems("yarn")[0]
