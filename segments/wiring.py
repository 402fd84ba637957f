"""The composition root: builds stores, gateways, clock and services, once per process; tests swap here."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Any, TypeVar

from django.conf import settings
from redis import Redis

from segments.clusters.embedded import OFFERS, NoLocalBroker, embedded_engine
from segments.clusters.pinot.connections.check import check_row
from segments.clusters.pinot.connections.open_clusters import OpenClusters
from segments.clusters.pinot.engine import OFFERS as PINOT_OFFERS
from segments.clusters.pinot.engine import PinotEngine
from segments.dataplane.broker import Broker, DetachedBroker
from segments.domain.access.cluster_signature import address_of
from segments.domain.access.outgoing import Kind, Rules, is_of_this_machine
from segments.domain.access.shared_secret import check_shared_secret
from segments.domain.alerts.rules import Wish, check_wish
from segments.domain.jobs.workers.state import PoolState
from segments.errors import Unavailable
from segments.gateways import streams
from segments.gateways.celery_queue import CeleryQueue
from segments.gateways.input_files.rules import InputRules, rules_of
from segments.gateways.pinot import SqlBroker
from segments.gateways.servers import HttpServers
from segments.gateways.signed_calls import CallVerifier
from segments.gateways.streams import StreamAccess, check_stream, open_stream
from segments.gateways.worker_status import WorkerStatus
from segments.gateways.worker_status import shared as shared_board
from segments.models import Cluster
from segments.names import http_address, instance_name
from segments.services.access.query_slots import QuerySlots
from segments.services.alerts import webhooks as webhook_services
from segments.services.alerts.delivery import Outgoing
from segments.services.alerts.sources import Watched
from segments.services.clusters import installation, own_tls
from segments.services.clusters.installation import Installation
from segments.services.clusters.own_deep_store import own_deep_store, store_access
from segments.services.core.context import Context, Limits
from segments.services.engine import Offers
from segments.services.engine.snapshots import ProfileReader
from segments.services.jobs.queue import TaskQueue
from segments.services.jobs.worker_health import pool_states
from segments.services.segments.replica_report import ErrorReader
from segments.spark.build_segments import SparkBuilder
from segments.store.base import Store
from segments.store.on_zookeeper.chroot import ensure_chroot
from segments.store.on_zookeeper.client import ZooKeeperStore
from segments.store.on_zookeeper.login import ZooKeeperLogin, parse_login
from segments.store.records.cluster_setup import ensure_cluster
from segments.store.records.restore_under_way import refuse_half_restored
from segments.store.records.shared_secrets import agree_on_secrets

T = TypeVar("T")


@dataclass
class _Parts:
    """What this process has built so far."""

    store: Store | None = None
    context: Context | None = None
    broker: Broker | None = None
    servers: HttpServers | None = None
    pinot: OpenClusters = field(default_factory=lambda: OpenClusters(lambda: _installation()))
    #: Contexts that a test put in the place of built ones.
    given: dict[str, Context] = field(default_factory=dict)


_parts = _Parts()
_lock = threading.RLock()


def clock_ms() -> int:
    """Now, epoch milliseconds."""
    return time.time_ns() // 1_000_000


_began_ms = clock_ms()


def store(*, restoring: bool = False) -> Store:
    """The cluster's state. Unavailable without ZooKeeper; StateConflict while others are ``restoring`` a backup."""

    def build() -> Store:
        # A killed ZooKeeper is back within three seconds; who waits longer wants to know.
        session_s, login = float(settings.ZOOKEEPER_SESSION_S), zookeeper_login()
        ensure_chroot(settings.ZOOKEEPER_URL, login, 8.0)
        url, name = settings.ZOOKEEPER_URL, settings.CLUSTER_NAME
        opened = ZooKeeperStore(url, name, session_timeout=session_s, connect_timeout=8.0, login=login)
        opened.close_to_strangers()
        ensure_cluster(opened, name)
        agree_on_secrets(opened, settings.SHARED_SECRETS)
        if not restoring:
            refuse_half_restored(opened)
        return opened

    return _once("store", build)


def zookeeper_login() -> ZooKeeperLogin:
    """Of this installation's own ZooKeeper, as the settings name it. InvalidInput when they cannot be one."""
    return parse_login(
        settings.ZOOKEEPER_AUTH,
        tls=settings.ZOOKEEPER_TLS,
        ca=settings.ZOOKEEPER_TLS_CA,
        certificate=settings.ZOOKEEPER_TLS_CERT,
        key=settings.ZOOKEEPER_TLS_KEY,
    )


def queue() -> TaskQueue:
    """The workers' queue, for what is to run on the own cluster or names another."""
    return CeleryQueue()


def servers() -> HttpServers:
    """HTTP to the embedded servers."""
    return _once("servers", lambda: HttpServers(settings.CLUSTER_SECRET, trust=own_tls.own_trust()))


def cluster_names() -> list[str]:
    """Every cluster that this installation drives, its own first."""
    others = Cluster.objects.filter(kind=Cluster.Kind.PINOT).exclude(name=settings.CLUSTER_NAME)
    return [settings.CLUSTER_NAME, *others.order_by("name").values_list("name", flat=True)]


def context(cluster: str | None = None) -> Context:
    """The parts that use cases work with; None: the installation's own cluster. NotFound for a cluster that it does not
    drive.

    Never waits for a Pinot: what cannot be reached says so (Unavailable) when it is used.
    """
    if cluster not in (None, settings.CLUSTER_NAME):
        return _parts.given.get(cluster) or _parts.pinot.context(cluster)

    def build() -> Context:
        return Context(
            cluster=settings.CLUSTER_NAME,
            store=store(),
            deep_store=own_deep_store(),
            clock=clock_ms,
            new_id=lambda: str(uuid.uuid4()),
            controller_url=own_url(),
            engine=embedded_engine(servers(), _detached_broker, lambda: _parts.broker or NoLocalBroker()),
            limits=_limits(),
            queue=queue(),
            streams=lambda config: open_stream(config, stream_access()),
            check_stream=lambda config: check_stream(config, stream_access()),
            registries=stream_access().registries,
            inputs=input_rules(),
        )

    return _once("context", build)


def _detached_broker(table: str) -> DetachedBroker:
    return DetachedBroker(store(), servers(), clock_ms, table)


def _installation() -> Installation:
    return Installation(
        own_name=settings.CLUSTER_NAME,
        own_store=store,
        data_dir=settings.DATA_DIR,
        deep_store_url=settings.DEEP_STORE_URL,
        store_access=store_access(),
        clock=clock_ms,
        new_id=lambda: str(uuid.uuid4()),
        limits=_limits(),
        check=check_row,
        queue=CeleryQueue,
        inputs=input_rules(),
    )


def _limits() -> Limits:
    return Limits(
        entry_lease_s=float(settings.ENTRY_LEASE_S),
        broker_back_s=float(settings.ZOOKEEPER_SESSION_S),
        # An installation that serves its own machine only may also read from there.
        fetch_from_loopback=serves_this_machine_only(),
        fetch_roots=tuple(settings.URI_PUSH_ROOTS),
        upload_bytes=settings.MAX_UPLOAD_BYTES,
        unpacked_bytes=settings.MAX_UNPACKED_BYTES,
    )


def offers_of(row: Cluster) -> Offers:
    """What the cluster of this row has that others have not; connects nowhere."""
    return PINOT_OFFERS if row.is_pinot else OFFERS


def query(cluster: str | None = None) -> SqlBroker:
    """Who answers queries of this cluster: the broker of this web process, or Pinot's."""
    engine = context(cluster).engine
    return engine.broker if isinstance(engine, PinotEngine) and engine.broker else broker()


@lru_cache(maxsize=1)
def query_slots() -> QuerySlots:
    """How many queries this process answers at once."""
    return QuerySlots(settings.QUERIES_AT_ONCE, settings.QUERIES_PER_USER)


def replica_errors(ctx: Context) -> ErrorReader | None:
    """What servers say about replicas in ERROR; None where servers are not ours: those never see our secret."""
    return servers().errors if ctx.engine.offers.own_processes else None


def column_profiles(ctx: Context) -> ProfileReader | None:
    """What servers know of the columns of segments; None where servers are not ours: the engine is asked then."""
    return servers().profile if ctx.engine.offers.own_processes else None


def stream_access() -> StreamAccess:
    """Where this installation's streams are, and what a table's stream config may name besides them."""
    return streams.stream_access(
        settings.REDIS_URL,
        settings.KAFKA_BOOTSTRAP,
        file_roots=settings.STREAM_FILE_ROOTS,
        kafka_roots=settings.KAFKA_ROOTS,
        redis_roots=settings.REDIS_ROOTS,
        registry_roots=settings.REGISTRY_ROOTS,
        loopback=serves_this_machine_only(),
    )


def serves_this_machine_only() -> bool:
    """Does nobody but this machine reach it? By its address and the names it answers to, that of a proxy included."""
    return is_of_this_machine(settings.BIND_HOST) and all(is_of_this_machine(name) for name in settings.ALLOWED_HOSTS)


def broker() -> Broker:
    """The broker that lives in this web process. Unavailable in processes that have none."""
    if _parts.broker is None:
        raise Unavailable("This process has no broker.", remedy="Ask the web process.")
    return _parts.broker


def push_builder() -> SparkBuilder:
    """Builds the segments of pushes; its Spark starts when first used."""
    return SparkBuilder(settings.SPARK_MASTER)


def input_roots() -> list[str]:
    """The folders that pushes may read, each once."""
    return list(dict.fromkeys(settings.INPUT_ROOTS))


def input_rules() -> InputRules:
    """Where input files are read, and as whom."""
    return rules_of(input_roots(), settings.OBJECT_STORE_ROOTS, serves_this_machine_only(), settings.INPUT_LOGINS)


def own_url() -> str:
    """Where the other processes of the cluster reach the web process."""
    return http_address(settings.HOST, settings.PORT, tls=bool(settings.TLS_CERTIFICATE))


def call_verifier() -> CallVerifier:
    """Checks requests that processes of the cluster send to the web process."""
    return _verifier(str(settings.CLUSTER_SECRET), address_of(own_url()))


@lru_cache(maxsize=4)
def _verifier(secret: str, address: str) -> CallVerifier:
    return CallVerifier(secret, address, began_ms=_began_ms)


def is_metrics_open() -> bool:
    """May strangers read /metrics?"""
    return bool(settings.OPEN_METRICS)


def ping_redis() -> None:
    """Raise unless Redis answers within a second."""
    with Redis.from_url(settings.REDIS_URL, socket_timeout=1.0, socket_connect_timeout=1.0) as client:
        client.ping()


def worker_states() -> list[PoolState]:
    """Every pool of workers, and what is wrong with it."""
    return pool_states(worker_board(), clock_ms())


def worker_board() -> WorkerStatus:
    """Where workers write down what they do."""
    return shared_board(settings.REDIS_URL, settings.CLUSTER_NAME)


def check_secrets() -> None:
    """InvalidInput for a shared secret that was given and is too weak; called by processes that others reach, when they
    start.
    """
    for name, secret in settings.SHARED_SECRETS.items():
        if secret:
            check_shared_secret(name, str(secret))


def watched() -> Watched:
    """What is read to find out what somebody has to know."""
    return Watched(worker_board(), worker_states(), settings.CLUSTER_NAME, timedelta(hours=settings.PAUSE_ALERT_HOURS))


def mail_wish() -> Wish | None:
    """What goes out by mail; None: nothing."""
    return check_wish("*", "*", settings.ALERT_MAIL_SEVERITY) if settings.ALERT_MAIL_TO else None


def webhooks() -> webhook_services.Kept:
    """Where the secrets of webhooks are, and which addresses they may have."""
    rules = Rules(Kind.WEBHOOK, tuple(settings.WEBHOOK_ROOTS), loopback=serves_this_machine_only())
    return webhook_services.Kept(settings.DATA_DIR, rules)


def outgoing_alerts() -> Outgoing:
    """What sending alerts takes."""
    kept = webhooks()
    return Outgoing(
        kept.rules, lambda hook: webhook_services.secret_of(kept.data_dir, hook), tuple(settings.ALERT_MAIL_TO)
    )


def start_broker() -> None:
    """Start this process's broker; called once when the web process comes up."""
    check_secrets()
    own_tls.check_tls(settings.HOST)

    def build() -> Broker:
        name = instance_name("Broker", settings.HOST, settings.PORT)
        started = Broker(store(), name, servers(), clock_ms, tls=bool(settings.TLS_CERTIFICATE))
        started.start()
        return started

    _once("broker", build)


def close() -> None:
    """End everything this process built; ephemeral nodes go at once."""
    with _lock:
        if _parts.broker is not None:
            _parts.broker.stop()
        if _parts.servers is not None:
            _parts.servers.close()
        _parts.pinot.close()
        if _parts.store is not None:
            _parts.store.close()
        _parts.__dict__.update(_Parts().__dict__)


@contextmanager
def use(context: Context, broker: Any = None) -> Iterator[None]:
    """For tests: this context (its store) and broker instead of built ones."""
    with _lock:
        before = dict(_parts.__dict__)
        _parts.__dict__.update(store=context.store, context=context, broker=broker)
    try:
        yield
    finally:
        with _lock:
            _parts.__dict__.update(before)


@contextmanager
def use_cluster(context: Context) -> Iterator[None]:
    """For tests: this context for the Pinot cluster of its name."""
    before = _parts.given
    _parts.given = {**before, context.cluster: context}
    try:
        yield
    finally:
        _parts.given = before


def _once(name: str, build: Callable[[], T]) -> T:
    with _lock:
        if getattr(_parts, name) is None:
            setattr(_parts, name, build())
        found: T = getattr(_parts, name)
        return found


def _after_fork() -> None:
    """A forked child must not share its parent's connections: they are built again when needed."""
    _parts.__dict__.update(_Parts().__dict__)


installation.bind(_installation)
os.register_at_fork(after_in_child=_after_fork)
