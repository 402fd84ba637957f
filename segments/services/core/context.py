"""What a use case works with: the cluster's parts, a clock and an id source, all given from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from segments.domain.realtime.streams.kafka_settings import check_client
from segments.domain.upkeep.run_properties import NO_PROPERTIES, RunProperties
from segments.gateways.input_files.rules import InputRules
from segments.gateways.timer import TIMER, Timer
from segments.services.jobs.queue import NoQueue, TaskQueue
from segments.services.upkeep.segment_record_cache import SegmentRecordCache

if TYPE_CHECKING:
    from segments.domain.access.outgoing import Rules
    from segments.domain.realtime.streams.stream_config import StreamConfig
    from segments.gateways.deep_store.deepstore import DeepStore
    from segments.gateways.streams import Stream
    from segments.services.engine import Engine
    from segments.store.base import Store


@dataclass(frozen=True)
class Limits:
    """How long a use case waits, in seconds, and how long things are kept."""

    #: End of a replacement: for all replicas of the new segments.
    replicas_online_s: float = 600.0
    #: End and revert: for live brokers to acknowledge the new lineage; then deletions are left to the next pass.
    broker_ack_s: float = 10.0
    #: End and revert: for a broker that lost its session to come back; then it is struck off.
    broker_back_s: float = 6.0
    #: A protected upload older than this is taken over.
    upload_lock_s: float = 600.0
    #: Files of deleted segments are kept this long unless the table or the call says otherwise (rule `a-way-back`).
    deleted_segments_days: int = 7
    #: A push whose lease was not renewed for this long is resumed by somebody else.
    push_lease_s: float = 20.0
    #: Silence of a client that sends heartbeats; when it lasts half as long again, its replacement is reverted (rule
    #: `entry-lease`).
    entry_lease_s: float = 40.0
    #: An end in the background gives up after this long.
    end_job_s: float = 3600.0
    #: The largest tar that is taken in, and what it may unpack to, in bytes.
    upload_bytes: int = 5 << 30
    unpacked_bytes: int = 20 << 30
    #: URI push: seconds for the whole download, the addresses below which files may be read, and whether, where there
    #: are none of these, this machine's own loopback addresses may be read from; without both nothing may.
    fetch_s: float = 600.0
    fetch_from_loopback: bool = True
    fetch_roots: tuple[str, ...] = ()


@dataclass(frozen=True)
class Context:
    """One cluster as a use case sees it. ``clock`` gives epoch milliseconds, ``new_id`` a random UUID text."""

    cluster: str
    store: Store
    deep_store: DeepStore
    clock: Callable[[], int]
    new_id: Callable[[], str]
    #: Address under which servers fetch segments through the controller, without a slash at the end.
    controller_url: str
    #: What this kind of cluster does for use cases. The ``store`` of a Pinot cluster writes below ``/PINOTADMIN`` only:
    #: all else is changed through this.
    engine: Engine
    limits: Limits = field(default_factory=Limits)
    #: A monotonic clock and a pause in seconds, for deadlines and for waiting.
    timer: Timer = TIMER
    #: The workers' queue.
    queue: TaskQueue = field(default_factory=NoQueue)
    #: Opens the stream of a config; the caller closes it.
    streams: Callable[[StreamConfig], Stream] = field(default_factory=lambda: _open_stream)
    #: Refuses (InvalidInput) a stream config that may not be opened here; connects nowhere.
    check_stream: Callable[[StreamConfig], None] = check_client
    #: Which schema registries streams' decoders may ask; None: none.
    registries: Rules | None = None
    #: Where input files are read, and as whom.
    inputs: InputRules = field(default_factory=InputRules)
    #: What passes of this process have read of segments that are committed and kept.
    segment_record_cache: SegmentRecordCache = field(default_factory=SegmentRecordCache)
    #: What this one run of a pass is asked for; anything else asks for nothing.
    run_properties: RunProperties = NO_PROPERTIES

    def now(self) -> datetime:
        """What ``clock`` shows, in UTC."""
        return datetime.fromtimestamp(self.clock() / 1000, UTC)


@dataclass(frozen=True)
class Actor:
    """Who asks, from where and why; goes into the audit record."""

    name: str
    reason: str = ""
    address: str = ""


SYSTEM = Actor("system")


def _open_stream(config: StreamConfig) -> Stream:
    from segments.gateways.streams import open_stream  # only who reads streams needs their clients

    return open_stream(config)
