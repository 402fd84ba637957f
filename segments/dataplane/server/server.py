"""One embedded server: joins the cluster, holds the segments assigned to it, reports them and answers queries over
HTTP.
"""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from segments.dataplane.primary_keys.server_keys import ServerKeys
from segments.dataplane.query import warm_up_soon as warm_queries_soon
from segments.dataplane.realtime.decoder_warm_up import warm_up_soon as warm_decoding_soon
from segments.dataplane.server.consuming import Consumers, ConsumingSettings, SharedResources, StreamPool, Uploader
from segments.dataplane.server.consuming.commit.left_commits import LeftCommits
from segments.dataplane.server.consuming.stream_pool import OpenStream
from segments.dataplane.server.consuming_info import ConsumingInfo
from segments.dataplane.server.dropped_segments import Dropped
from segments.dataplane.server.external_view import publish_view
from segments.dataplane.server.held.column_cache import ColumnCache
from segments.dataplane.server.held.download import Downloader
from segments.dataplane.server.held.download_counts import Downloads
from segments.dataplane.server.held.load_parts import LoadParts
from segments.dataplane.server.held.loader import Loader
from segments.dataplane.server.held.peer_addresses import Peers
from segments.dataplane.server.held.peer_download import ClusterFiles
from segments.dataplane.server.held.segment_folders import SegmentFolders
from segments.dataplane.server.held.segment_uploads import SegmentUploads
from segments.dataplane.server.held.slots import Slots
from segments.dataplane.server.http.app import build_app
from segments.dataplane.server.http.authorization import Authorization, People
from segments.dataplane.server.http.endpoints import ServerParts
from segments.dataplane.server.http.http_endpoint import HttpEndpoint
from segments.dataplane.server.pending_changes import PendingChanges
from segments.dataplane.server.query_runner import QueryRunner
from segments.dataplane.server.reconciler import Reconciler
from segments.dataplane.server.reingestion import Reingestions
from segments.dataplane.server.reporter import Reporter
from segments.dataplane.server.schemas import SchemaCache
from segments.dataplane.server.segment_finder import SegmentFinder
from segments.dataplane.server.segment_lives import SegmentLives
from segments.dataplane.server.segment_loads import Loads
from segments.dataplane.server.set_aside import Outbox
from segments.dataplane.server.web_processes import WebProcesses
from segments.domain.access.cluster_signature import address_of
from segments.errors import PinotAdminError
from segments.gateways.controller_protocol import Controller, HttpController
from segments.gateways.deep_store.deepstore import DeepStore
from segments.gateways.outgoing.fetch import FetchRules
from segments.gateways.reingested_uploads import HttpReingestedUploads, ReingestedUploads
from segments.gateways.set_aside_reports import HttpReports, Reports
from segments.gateways.signed_calls import CallSigner, CallVerifier
from segments.gateways.streams import StreamAccess, open_stream
from segments.gateways.tls.certificate import Certificate
from segments.gateways.tls.trust import Trust
from segments.names import http_address, instance_name
from segments.store import paths
from segments.store.base import Store
from segments.store.records.instances import Membership, join

log = logging.getLogger(__name__)

TAGS = ("DefaultTenant_OFFLINE", "DefaultTenant_REALTIME")


@dataclass(frozen=True)
class ServerSettings:
    """How a server is set up. ``port`` only names the instance; ``admin_port`` (0: a free one) is where it listens.

    Sizes in bytes, times in seconds. ``people`` knows the users; None: only processes of the cluster are served.
    ``controller_url``: web processes besides the registered ones, by commas. ``segment_store_url``: the
    deep store as this server reaches it (``segment.store.root.dir``); empty: it does not, and web processes hand files
    on, both ways.
    ``peer_scheme``: for tables that do not name one. ``elsewhere``: addresses outside of the cluster that segments are
    fetched from.
    ``has_open_metrics``: /metrics answers without credentials, too. ``certificate``: with one it speaks TLS; ``trust``:
    whom it believes that does.
    """

    host: str
    port: int
    admin_port: int
    data_dir: Path
    secret: str
    controller_url: str = ""
    people: People | None = None
    cache_bytes: int = 512 << 20
    max_segment_bytes: int = 20 << 30
    loads: int = 4
    query_threads: int = 8
    drop_grace_s: float = 10.0
    join_patience_s: float = 15.0
    segment_store_url: str = ""
    deep_store_timeout_s: float = 30.0
    peer_scheme: str = ""
    streams: StreamAccess = field(default_factory=StreamAccess)
    elsewhere: FetchRules = field(default_factory=FetchRules)
    consuming: ConsumingSettings = field(default_factory=ConsumingSettings)
    has_open_metrics: bool = False
    certificate: Certificate | None = None
    trust: Trust = field(default_factory=Trust)


def _reached(deep_store: DeepStore, settings: ServerSettings) -> DeepStore | None:
    """The deep store where this server reaches it, for uploads and downloads; None: it does not."""
    if not (deep_store.exists and settings.segment_store_url):
        return None
    return DeepStore(settings.segment_store_url, settings.deep_store_timeout_s, deep_store.access)


class Server:
    """The server's parts and their life. ``instance`` is its name in the cluster, ``admin_url`` where it listens after
    ``start``.

    ``controller``, ``opener`` (of streams), ``reports`` (of messages set aside) and ``reingested`` (where segments that
    were read again are registered) stand in for HTTP and real streams.
    """

    _membership: Membership | None = None
    _is_stopped = False

    def __init__(
        self,
        store: Store,
        deep_store: DeepStore,
        settings: ServerSettings,
        *,
        controller: Controller | None = None,
        opener: OpenStream | None = None,
        reports: Reports | None = None,
        reingested: ReingestedUploads | None = None,
    ) -> None:
        self._store, self._settings, self._lives = store, settings, SegmentLives()
        self.instance = instance_name("Server", settings.host, settings.port)
        self.slots = Slots()
        cache = ColumnCache(settings.cache_bytes)
        self._folders = folders = SegmentFolders(settings.data_dir)
        webs = WebProcesses(store, settings.controller_url.split(","))
        signer, trust = CallSigner(settings.secret), settings.trust
        loader = self._loader(deep_store, cache, ClusterFiles(webs, signer, trust))
        self.reporter = Reporter(store, self.instance, self.slots)
        self._http_controller = HttpController(webs, signer, upload_s=settings.consuming.upload_s, trust=trust)
        reports = reports or HttpReports(webs, signer, trust=trust)
        self._set_aside = Outbox(settings.data_dir / ".set-aside", self.instance, reports)
        pending = PendingChanges()
        shared = self._shared(deep_store, cache, controller or self._http_controller, opener)
        self._left_commits = LeftCommits(shared, self.slots.serving)
        self.consumers = Consumers(shared, self.slots, self.reporter.mark, pending.mark)
        loads = Loads(self.instance, self.slots, loader, shared.keys, self.reporter, pending, settings.loads)
        dropped = Dropped(self.slots, folders, shared.keys, self._lives, settings.drop_grace_s)
        self.reconciler = Reconciler(
            store, self.instance, self.slots, self.reporter, self.consumers, pending, loads, dropped
        )
        self._consuming_info = ConsumingInfo(self.slots, shared.streams, self._lives, store)
        reingested = reingested or HttpReingestedUploads(webs, signer, trust=trust)
        self._reingestions = Reingestions(shared, self.slots, reingested)
        self._uploads = SegmentUploads(store, self.instance, self.slots, folders, shared.uploader)
        self.runner = QueryRunner(settings.host, self._finder(shared), SchemaCache(store), lambda: cache.size_bytes)
        self._pool = ThreadPoolExecutor(settings.query_threads, thread_name_prefix=f"query-{self.instance}")
        self._http = HttpEndpoint(settings.host, settings.admin_port, settings.certificate)

    def _loader(self, deep_store: DeepStore, cache: ColumnCache, files: ClusterFiles) -> Loader:
        """What brings segments to this server."""
        settings = self._settings
        downloader = Downloader(deep_store, files, settings.elsewhere, _reached(deep_store, settings))
        peers = Peers(self._store, self.instance, settings.peer_scheme)
        size = settings.max_segment_bytes
        parts = LoadParts(self._store, self._folders, downloader, peers, cache, size, Downloads(self._lives))
        return Loader(parts, note_unfinished=lambda table, segment: self._left_commits.note(table, segment))

    def _finder(self, shared: SharedResources) -> SegmentFinder:
        return SegmentFinder(self.slots, shared.keys, self.consumers.tails.of)

    def _shared(
        self, deep_store: DeepStore, cache: ColumnCache, controller: Controller, opener: OpenStream | None
    ) -> SharedResources:
        """What all consuming segments of this server use."""
        settings = self._settings
        uploader = Uploader(
            _reached(deep_store, settings),
            controller,
            settings.consuming.upload_s,
            self._folders.workspace,
            lives=self._lives,
        )
        streams = StreamPool(
            opener or (lambda config: open_stream(config, settings.streams)), settings.streams.registries
        )
        return SharedResources(
            self._store,
            self.instance,
            controller,
            uploader,
            streams,
            self._folders,
            cache,
            ServerKeys(self._store),
            settings.consuming,
            threading.BoundedSemaphore(settings.consuming.builds),
            self._set_aside,
            self._lives,
        )

    @property
    def admin_url(self) -> str:
        """``http://host:port``, https with a certificate."""
        settings = self._settings
        return http_address(settings.host, self._http.port, tls=settings.certificate is not None)

    @property
    def is_ready(self) -> bool:
        """Joined, and everything assigned at the start was loaded or has failed."""
        return self._membership is not None and self.reconciler.is_ready.is_set()

    def _authorization(self) -> Authorization:
        """Who may use its port, whose number is known by now."""
        settings = self._settings
        verifier = CallVerifier(settings.secret, address_of(self.admin_url))
        return Authorization(verifier, settings.people, has_open_metrics=settings.has_open_metrics)

    def start(self) -> None:
        """Listen, join, begin to load. Returns before everything is loaded. StateConflict when the name is taken by a
        live process.
        """
        warm_queries_soon()
        warm_decoding_soon()
        parts = ServerParts(
            self.instance,
            self.slots,
            self.runner,
            lambda: self.is_ready,
            self._pool,
            self._consuming_info,
            self._uploads,
            self._reingestions,
            self._settings.data_dir,
            self.consumers.keys,
        )
        self._http.start(build_app(parts, self._authorization()))
        # Before ``join``: in a new session states are written first, so that the node's return finds them.
        self._store.on_session(self._on_session)
        self._membership = join(
            self._store,
            self.instance,
            self._settings.host,
            self._settings.port,
            TAGS,
            patience_s=self._settings.join_patience_s,
            adminPort=str(self._http.port),
            adminHttpsPort=str(self._http.port) if self._settings.certificate is not None else None,
        )
        self._remove_old_sessions()
        self.reporter.start()
        self._set_aside.start()
        self.reconciler.start()
        self._left_commits.start()
        self._reingestions.start()

    def stop(self) -> None:
        """Leave the cluster first, so that brokers stop asking, then end. The store is the caller's."""
        self._is_stopped = True
        try:
            if self._membership is not None:
                self._membership.leave()
                for table in self.slots.tables():
                    publish_view(self._store, table)  # the last server has nobody who would do it
        except PinotAdminError as error:
            log.warning("%s could not leave the cluster: %s", self.instance, error)
        self._reingestions.stop()
        self._left_commits.stop()
        self.reconciler.stop()
        self._set_aside.stop()
        self.reporter.stop()
        self._http.stop()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._http_controller.close()
        self._folders.close()

    def _on_session(self) -> None:
        if self._is_stopped:
            return
        tables = self.slots.tables()
        try:
            for table in tables:
                self.reporter.write_states(table)
            self._remove_old_sessions()
        except PinotAdminError as error:
            log.warning("%s will report its states later: %s", self.instance, error)
        self.reporter.mark(*tables)

    def _remove_old_sessions(self) -> None:
        """Only the folder of the live session counts; others are left from earlier lives."""
        folder = f"{paths.INSTANCES}/{self.instance}/CURRENTSTATES"
        for session in self._store.children(folder):
            if session != self._store.session_id():
                self._store.delete_tree(f"{folder}/{session}")
