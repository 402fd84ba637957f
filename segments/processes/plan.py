"""Lays out the children of an embedded cluster: which, in which order, with which environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from segments.domain.jobs.workers.pools import POOLS, PUSHES, Pool
from segments.gateways.tls.certificate import Certificate
from segments.gateways.tls.trust import Trust
from segments.metrics.metric_kinds import SHARED_FOLDER
from segments.names import http_address, instance_name
from segments.processes.child import ChildSpec, Timing
from segments.processes.child_run import Command
from segments.processes.endpoints import Endpoints, ServerEndpoint
from segments.processes.machine.credentials import Credentials
from segments.processes.machine.java import Java, spark_java_home
from segments.processes.machine.ports import Ports
from segments.processes.machine.valkey import redis_command
from segments.processes.machine.zookeeper import HEAP_BYTES, zookeeper_command
from segments.processes.probes import beat_probe, closing_probe, http_probe, redis_probe, zookeeper_probe
from segments.processes.roles.commands import PROJECT, beat_command, web_command, worker_command
from segments.processes.roles.shared_port import SharedPort
from segments.secret_texts import mask_address
from segments.store.on_zookeeper.closed_tree import close_server

#: Settings that name an external part; that part is then not started here.
EXTERNAL = ("ZOOKEEPER_URL", "REDIS_URL", "DATABASE_URL", "DEEP_STORE_URL")
#: Below ``run``: what web, mirror and workers count.
METRICS_FOLDER = "metrics"
#: Of parts whose files nobody else ever needs; segments may go to a deep store that others read.
_PRIVATE = 0o077
#: Where state is; and what comes before every part that works on it, as far as it is there.
_STATE = ("zookeeper", "setup")
_PARTS = (*_STATE, "restore")
_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - compared with, not bound to


@dataclass(frozen=True)
class Options:
    """The options of ``up``. ``storage``: settings of ``processes.storage``, checked. ``trusted_proxies``: whose word
    on who asks is taken; ``silence_s``: without a sign of life, until a process is started again; ``certificate``: with
    one servers and web processes speak TLS, and are asked over it by whoever has ``trust``.
    """

    data_dir: Path
    host: str
    input_roots: tuple[Path | str, ...] = ()
    demo: bool = False
    storage: Mapping[str, str] = field(default_factory=dict)
    trusted_proxies: Sequence[str] = ()
    silence_s: float = Timing.silence
    zookeeper_heap_bytes: int = HEAP_BYTES
    certificate: Certificate | None = None
    trust: Trust = field(default_factory=Trust)
    #: A backup to restore before anything else runs, and the servers in it, which those of ours become.
    restore: Path | None = None
    restored_servers: tuple[str, ...] = ()

    @property
    def reached_host(self) -> str:
        """By which parts on this machine reach one another."""
        return _WILDCARDS.get(self.host, self.host)


@dataclass(frozen=True)
class Plan:
    """Everything the supervisor needs to know."""

    specs: tuple[ChildSpec, ...]
    endpoints: Endpoints
    demo: ChildSpec | None


class Planner:
    """Builds the plan of one cluster from what was chosen before: options, ports, credentials and the Java."""

    def __init__(
        self,
        options: Options,
        ports: Ports,
        credentials: Credentials,
        java: Java,
        environ: Mapping[str, str],
        shared: SharedPort | None = None,
    ) -> None:
        """``shared``: where several web processes listen; None: there is one."""
        self._data_dir = options.data_dir
        self._options = options
        self._ports = ports
        self._credentials = credentials
        self._java = java
        self._shared = shared
        self._given = {name: environ[name] for name in EXTERNAL if environ.get(name)} | {**options.storage}
        self._zookeeper_auth = environ.get("ZOOKEEPER_AUTH", "")
        self._cluster = environ.get("PINOTADMIN_CLUSTER") or "pinotadmin"
        self._host = options.reached_host
        self._probed = options.trust if options.certificate is not None else None
        self._timing = Timing(silence=options.silence_s)
        self._environment = self._shared_environment()

    def plan(self) -> Plan:
        """The children in order of start; the order of stop is its reverse."""
        specs = [*self._embedded_parts(), self._setup(), *self._restore()]
        specs += [self._server(index) for index in range(len(self._ports.servers))]
        specs += [*self._webs(), self._mirror(), *(self._worker(pool) for pool in POOLS), self._beat()]
        demo = (
            self._manage("demo", "demo", once=True, environment={"PINOTADMIN_PORT": str(self._ports.web)})
            if self._options.demo
            else None
        )
        there = {spec.name for spec in specs}
        specs = [replace(spec, after=tuple(name for name in spec.after if name in there)) for spec in specs]
        return Plan(tuple(specs), self._endpoints(), demo)

    def _shared_environment(self) -> dict[str, str]:
        """The contract with settings.py; what the person set for an external part wins."""
        folder = self._data_dir
        roots = dict.fromkeys((folder / "input", *self._options.input_roots))
        redis = f"redis://:{self._credentials.redis_password}@127.0.0.1:{self._ports.redis}/0"
        return {
            "PYTHONUNBUFFERED": "1",
            # Celery would otherwise import every page and API view to check them, in worker and beat.
            "CELERY_SKIP_CHECKS": "1",
            "DJANGO_SETTINGS_MODULE": "pinotadmin.settings",
            "PINOTADMIN_DATA_DIR": str(folder),
            "PINOTADMIN_CLUSTER": self._cluster,
            "PINOTADMIN_HOST": self._host,
            "PINOTADMIN_BIND_HOST": self._options.host or "0.0.0.0",  # noqa: S104 - what no address means
            # Where each web process has a port of its own, the others of the cluster use that of the first.
            "PINOTADMIN_PORT": str(self._ports.own_web[0] if self._ports.own_web else self._ports.web),
            "PINOTADMIN_SECRET_KEY": self._credentials.secret_key,
            "PINOTADMIN_CLUSTER_SECRET": self._credentials.cluster_secret,
            "PINOTADMIN_INPUT_ROOTS": os.pathsep.join(str(root) for root in roots),
            "ZOOKEEPER_URL": f"127.0.0.1:{self._ports.zookeeper}",
            **self._zookeeper_access(),
            "REDIS_URL": redis,
            "DATABASE_URL": f"sqlite://{quote(str(folder))}/db.sqlite3",
            "DEEP_STORE_URL": f"file://{folder}/deepstore",
            **self._given,
        }

    def _zookeeper_access(self) -> dict[str, str]:
        """Of the embedded ZooKeeper; with another one the person's own settings stand."""
        if "ZOOKEEPER_URL" in self._given:
            return {}
        return {"ZOOKEEPER_AUTH": self._credentials.zookeeper_login.text, "ZOOKEEPER_TLS": ""}

    def _child(self, name: str, *arguments: str, **more: object) -> ChildSpec:
        extra = more.pop("environment", {})
        assert isinstance(extra, dict)
        umask = more.pop("umask", -1)
        assert isinstance(umask, int)
        descriptors = more.pop("descriptors", ())
        assert isinstance(descriptors, tuple)
        command = Command(tuple(arguments), {**self._environment, **extra}, PROJECT, umask, descriptors)
        return ChildSpec(name, command, timing=self._timing, **more)  # type: ignore[arg-type]  # fields passed through

    def _manage(self, name: str, *arguments: str, **more: object) -> ChildSpec:
        return self._child(name, sys.executable, "-m", "pinotadmin", *arguments, **more)

    def _touching(self, name: str, *arguments: str, **more: object) -> ChildSpec:
        """A child that touches run/NAME.ready when it is ready, and again and again while it lives."""
        file = self._data_dir / "run" / f"{name}.ready"
        return self._child(name, sys.executable, *arguments, ready_file=file, probe=beat_probe(file), **more)

    def _embedded_parts(self) -> list[ChildSpec]:
        parts = []
        if "ZOOKEEPER_URL" not in self._given:
            port, login = self._ports.zookeeper, self._credentials.zookeeper_login
            command = zookeeper_command(
                self._data_dir / "zookeeper", port, self._java.executable, login, self._options.zookeeper_heap_bytes
            )
            probe = closing_probe(
                zookeeper_probe(port), lambda: close_server(f"127.0.0.1:{port}", self._cluster, login)
            )
            parts.append(self._child("zookeeper", *command, probe=probe, umask=_PRIVATE))
        if "REDIS_URL" not in self._given:
            password = self._credentials.redis_password
            command = redis_command(self._data_dir / "redis", self._ports.redis, password)
            parts.append(self._child("redis", *command, probe=redis_probe(self._ports.redis, password), umask=_PRIVATE))
        return parts

    @property
    def _admin_password(self) -> dict[str, str]:
        return {"PINOTADMIN_ADMIN_PASSWORD": self._credentials.admin_password}

    def _setup(self) -> ChildSpec:
        return self._manage("setup", "setup_database", once=True, environment=self._admin_password)

    def _restore(self) -> list[ChildSpec]:
        if self._options.restore is None:
            return []
        ours = (self._instance(index) for index in range(len(self._ports.servers)))
        pairs = [f"--server={old}={new}" for old, new in zip(self._options.restored_servers, ours, strict=False)]
        # What is printed at the end, and stands in endpoints.json, is the password of this installation.
        arguments = ("restore", str(self._options.restore), "--set-admin-password", *pairs)
        return [self._manage("restore", *arguments, once=True, environment=self._admin_password, after=_STATE)]

    def _server(self, index: int) -> ChildSpec:
        ports, name = self._ports.servers[index], f"server-{index + 1}"
        return self._manage(
            name,
            *("run_server", "--name", name, "--port", str(ports.port), "--admin-port", str(ports.admin)),
            probe=http_probe(self._host, ports.admin, "/health", trust=self._probed),
            alive=http_probe(self._host, ports.admin, "/health/liveness", any_status=True, trust=self._probed),
            after=("zookeeper", "restore"),
            aliases=(self._instance(index),),
            wave="servers",
        )

    def _webs(self) -> list[ChildSpec]:
        if self._shared is None:
            return [self._web("web", self._ports.web)]
        names = ["web", *(f"web-{number}" for number in range(2, len(self._ports.own_web) + 1))]
        return [self._web(name, port) for name, port in zip(names, self._ports.own_web, strict=True)]

    def _web(self, name: str, port: int) -> ChildSpec:
        options = self._options
        descriptor = self._shared.descriptor if self._shared is not None else None
        return self._child(
            name,
            *web_command(options.host, port, options.trusted_proxies, descriptor, options.certificate),
            environment={**self._counting(), "PINOTADMIN_PORT": str(port)},
            descriptors=() if descriptor is None else (descriptor,),
            on_end=self._shared.refuse_unless_answered if self._shared is not None else None,
            probe=http_probe(self._host, port, "/health/readiness", trust=self._probed),
            alive=http_probe(self._host, port, "/health/liveness", any_status=True, trust=self._probed),
            after=(*_PARTS, "redis"),
            wave="web",
        )

    def _mirror(self) -> ChildSpec:
        arguments = ("-m", "pinotadmin", "run_mirror")
        return self._touching("mirror", *arguments, after=_PARTS, environment=self._counting())

    def _counting(self) -> dict[str, str]:
        """Web, mirror and workers add up what they count; every one of them can show it."""
        return {SHARED_FOLDER: str(self._data_dir / "run" / METRICS_FOLDER)}

    def _worker(self, pool: Pool) -> ChildSpec:
        return self._touching(
            pool.name,
            *worker_command(pool)[1:],
            after=(*_PARTS, "redis"),
            environment={**self._counting(), **(self._spark() if pool is PUSHES else {})},
            wave="workers",
        )

    def _spark(self) -> dict[str, str]:
        return {
            "JAVA_HOME": str(spark_java_home(self._java, self._data_dir / "run" / "java-home")),
            # Spark's Python workers must be this Python, with its packages, not the first on the PATH.
            "PYSPARK_PYTHON": sys.executable,
            "PINOTADMIN_WARM_SPARK": "1",
        }

    def _beat(self) -> ChildSpec:
        return self._touching("beat", *beat_command()[1:], after=(*_PARTS, "redis"), wave="workers")

    def _instance(self, index: int) -> str:
        return instance_name("Server", self._host, self._ports.servers[index].port)

    def _endpoints(self) -> Endpoints:
        host, tls = self._host, self._options.certificate is not None
        servers = tuple(
            ServerEndpoint(f"server-{index + 1}", self._instance(index), http_address(host, ports.admin, tls=tls))
            for index, ports in enumerate(self._ports.servers)
        )
        return Endpoints(
            web=http_address(host, self._ports.web, tls=tls),
            zookeeper=self._environment["ZOOKEEPER_URL"],
            zookeeper_auth=self._environment.get("ZOOKEEPER_AUTH", self._zookeeper_auth),
            redis=self._environment["REDIS_URL"],
            cluster=self._cluster,
            deep_store=mask_address(self._environment["DEEP_STORE_URL"]),
            authorization=self._credentials.authorization,
            servers=servers,
            authorities=self._options.trust.authorities,
        )
