"""What Spark makes of its settings before anything runs: each with its value and where it comes from, checked by what
Spark itself knows; on Kubernetes also the pod that an executor would be.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from segments.errors import Unavailable
from segments.secret_texts import MASK, mask_text
from segments.spark.session import drop_launcher, own_settings

#: Where Spark declares its settings. Each is made when it is asked for.
_DECLARED: Final = (
    *(f"org.apache.spark.internal.config.{name}$" for name in ("package", "UI", "Network", "Python", "Kryo", "Status")),
    "org.apache.spark.deploy.k8s.Config$", "org.apache.spark.deploy.yarn.config.package$",
)  # fmt: skip
#: Of keys that are made of a name: an environment variable, say. Those of Kubernetes are asked of Spark.
_PREFIXES: Final = ("spark.executorEnv.", "spark.hadoop.", "spark.ssl.", "spark.shuffle.io.", "spark.rpc.io.")
#: What spark-submit adds for itself.
_ADDED: Final = re.compile(r"spark\.(submit\..*|app\.(name|submitTime|startTime)|repl\..*)")
#: The source of what this program sets.
_OURS: Final = "pinotadmin"
_SECRET: Final = re.compile(r"secret(?!KeyRef)|password|token|access\.?key", re.IGNORECASE)


@dataclass(frozen=True)
class SparkSetting:
    """One of them; ``problem`` is empty where nothing is wrong."""

    key: str
    value: str
    source: str
    problem: str = ""


@dataclass(frozen=True)
class ClusterSettings:
    """``pod``: of an executor on Kubernetes, as YAML; ``problems``: what is wrong with all of it together."""

    settings: tuple[SparkSetting, ...]
    pod: str = ""
    problems: tuple[str, ...] = ()

    @property
    def is_wrong(self) -> bool:
        """Is there anything to mend?"""
        return bool(self.problems or any(one.problem for one in self.settings))


def cluster_settings(master: str) -> ClusterSettings:
    """Those of this process, with the spark-defaults.conf that Spark would read. Starts a JVM for some seconds."""
    ours = {**own_settings(master), "spark.master": master}
    if problems := _yarn_problems(master):  # spark-submit would end
        return ClusterSettings(tuple(SparkSetting(key, value, _OURS) for key, value in ours.items()), "", problems)
    with _jvm(ours) as jvm:
        conf = jvm.org.apache.spark.SparkConf(True)
        given = {entry._1(): entry._2() for entry in conf.getAll()}
        check = _Check(jvm)
        found = [SparkSetting(key, value, _OURS) for key, value in ours.items()]
        found += [
            SparkSetting(key, MASK if _SECRET.search(key) else mask_text(value), _defaults_file(), check(key, value))
            for key, value in given.items()
            if key not in ours and not _ADDED.fullmatch(key)
        ]
        pod, problems = _pod(jvm, conf) if master.startswith("k8s://") else ("", ())
    return ClusterSettings(tuple(sorted(found, key=lambda one: one.key)), pod, problems)


@contextmanager
def _jvm(settings: Mapping[str, str]) -> Iterator[Any]:
    """As a context's: spark-submit reads the rest. Unavailable when it ends, for what it prints itself."""
    from pyspark import SparkConf  # see segments.spark.session
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    conf = SparkConf(loadDefaults=False, _jvm=None).setAll(list(settings.items()))
    try:
        gateway: Any = launch_gateway(conf)  # type: ignore[no-untyped-call]
    except PySparkRuntimeError as error:
        drop_launcher(error)
        raise Unavailable("Spark could not be started.", remedy="What it printed above says why.") from error
    try:
        yield gateway.jvm
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.kill()
        gateway.proc.wait()


def _module(jvm: Any, name: str) -> Any:
    """A Scala object."""
    return jvm.java.lang.Class.forName(name).getField("MODULE$").get(None)


class _Check:
    """What is wrong with a key or its value, in Spark's own words; empty: nothing."""

    def __init__(self, jvm: Any) -> None:
        self._find = jvm.org.apache.spark.internal.config.ConfigEntry.findEntry
        modules = [_module(jvm, name) for name in _DECLARED]
        self._prefixes = (*_PREFIXES, *(p for module in modules for p in _prefixes_of(module)))
        self._version = jvm.org.apache.spark.package.SPARK_VERSION()

    def __call__(self, key: str, value: str) -> str:
        from py4j.protocol import Py4JJavaError  # see segments.spark.session

        entry = self._find(key)
        if entry is None:
            is_one = any(key.startswith(prefix) and key != prefix for prefix in self._prefixes)
            return "" if is_one else f"Spark {self._version} has no such setting."
        try:
            entry.valueConverter().apply(value)
        except Py4JJavaError as error:
            return str(error.java_exception.getMessage())
        return ""


def _prefixes_of(module: Any) -> list[str]:
    """Constants such as ``spark.kubernetes.executor.secretKeyRef.``."""
    found = []
    for method in module.getClass().getMethods():
        if method.getName().endswith("PREFIX") and method.getReturnType().getName() == "java.lang.String":
            text = str(getattr(module, method.getName())())
            found += [text] if text.startswith("spark.") and text.endswith(".") else []
    return found


def _defaults_file() -> str:
    folder = os.environ.get("SPARK_CONF_DIR")
    return str(Path(folder) / "spark-defaults.conf") if folder else "spark-defaults.conf"


def _yarn_problems(master: str) -> tuple[str, ...]:
    if master != "yarn":
        return ()
    folders = [Path(os.environ[name]) for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR") if os.environ.get(name)]
    if any((folder / "yarn-site.xml").is_file() for folder in folders):
        return ()
    shown = " and ".join(str(folder) for folder in folders)
    return (
        f"There is no yarn-site.xml in {shown}, where YARN's addresses are."
        if folders
        else "HADOOP_CONF_DIR is not set: Spark finds YARN by the yarn-site.xml in it.",
    )


def _pod(jvm: Any, conf: Any) -> tuple[str, tuple[str, ...]]:
    """The pod as Spark builds it, and why it cannot."""
    from py4j.protocol import Py4JJavaError  # see segments.spark.session

    none = _module(jvm, "scala.None$")
    for key, value in (("spark.driver.host", "DRIVER"), ("spark.driver.port", "7078")):
        if not conf.contains(key):
            conf.set(key, value)  # known once it runs
    try:
        of_executor = _module(jvm, "org.apache.spark.deploy.k8s.KubernetesConf$").createExecutorConf(
            conf, "1", "spark-application", none, 0
        )
        file = jvm.org.apache.spark.internal.config.ConfigEntry.findEntry("spark.authenticate.secret.file")
        security = jvm.org.apache.spark.SecurityManager(conf, none, file)
        security.initializeAuth()
        profile = _module(jvm, "org.apache.spark.resource.ResourceProfile$").getOrCreateDefaultProfile(conf)
        builder = jvm.org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBuilder()
        made = builder.buildFromFeatures(of_executor, security, None, profile).pod()
        whole = jvm.io.fabric8.kubernetes.api.model.PodBuilder(made.pod()).editOrNewSpec()
        pod = whole.addToContainers(0, made.container()).endSpec().build()
        return mask_text(_without_secret(jvm.io.fabric8.kubernetes.client.utils.Serialization.asYaml(pod))), ()
    except Py4JJavaError as error:
        return "", (f"An executor's pod cannot be made: {error.java_exception.getMessage()}",)


def _without_secret(pod: str) -> str:
    """The secret that Spark made for this pod alone."""
    return re.sub(r'(name: "_SPARK_AUTH_SECRET"\n\s*value: ).*', rf'\1"{MASK}"', pod)
